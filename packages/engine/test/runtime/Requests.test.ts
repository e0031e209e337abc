import type { Command, Reply, ThreadStats } from "@effect-rl/engine/runtime/Protocol"
import { type Question, Requests } from "@effect-rl/engine/runtime/Requests"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"

const idle: ThreadStats = { waiting: 0, running: 0, free: 0, orders: 0 }

/** Asks a thread for its load. */
const report: Question<ThreadStats> = {
  command: (id) => ({ _tag: "Report", id }),
  read: (reply) => reply._tag === "Reported" ? reply.stats : undefined
}

const reported = (id: number, free = 0): Reply => ({ _tag: "Reported", id, stats: { ...idle, free } })

/** Requests to a thread that answers when the test does. */
const make = () => {
  const requests = new Requests()
  const posted: Array<Command> = []
  const cancelled: Array<number> = []
  const ask = Effect.forkChild(
    requests.ask({ post: (command) => void posted.push(command) }, {
      ...report,
      cancel: (id) => void cancelled.push(id)
    }),
    { startImmediately: true }
  )
  return { requests, posted, cancelled, ask }
}

describe("Requests", () => {
  it.effect("are told apart by numbers that count up, and answered in any order", () =>
    Effect.gen(function*() {
      const { ask, posted, requests } = make()
      const [first, second] = [yield* ask, yield* ask]
      assert.deepStrictEqual(posted, [{ _tag: "Report", id: 0 }, { _tag: "Report", id: 1 }])
      assert.strictEqual(requests.count, 2)
      requests.onReply(reported(1, 11))
      requests.onReply(reported(0, 10))
      assert.strictEqual((yield* Fiber.join(first)).free, 10)
      assert.strictEqual((yield* Fiber.join(second)).free, 11)
      assert.strictEqual(requests.count, 0)
    }))

  it.effect("ignore an answer that nobody waits for", () =>
    Effect.gen(function*() {
      const { ask, requests } = make()
      const fiber = yield* ask
      requests.onReply(reported(7))
      assert.isUndefined(fiber.pollUnsafe())
      requests.onReply(reported(0))
      yield* Fiber.join(fiber)
      requests.onReply(reported(0))
      assert.strictEqual(requests.count, 0)
    }))

  it.effect("stop with their caller, and tell the thread", () =>
    Effect.gen(function*() {
      const { ask, cancelled, requests } = make()
      const fiber = yield* ask
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(requests.count, 0)
      assert.deepStrictEqual(cancelled, [0])
    }))

  it.effect("die of an answer to another question", () =>
    Effect.gen(function*() {
      const { ask, requests } = make()
      const fiber = yield* ask
      requests.onReply({ _tag: "MovedArena", id: 0 })
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.include(String(exit), "a MovedArena answers another call")
    }))

  it.effect("fail with the first failure of a thread, those under way and later ones", () =>
    Effect.gen(function*() {
      const { ask, requests } = make()
      yield* requests.health
      const fiber = yield* ask
      requests.onFailure("a thread crashed")
      requests.onFailure("another one")
      assert.strictEqual(requests.count, 0)
      const detail = "a thread crashed; the engine must be started again"
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).detail, detail)
      assert.strictEqual((yield* Effect.flip(requests.health)).detail, detail)
      const later = yield* ask
      assert.strictEqual((yield* Effect.flip(Fiber.join(later))).detail, detail)
      assert.strictEqual(requests.count, 0)
    }))
})
