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

/** Requests to a thread whose answers the test sends. */
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
  it.effect("have consecutive ids and can be answered in any order", () =>
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

  it.effect("ignore answers to unknown and to already answered requests", () =>
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

  it.effect("are cancelled in the thread when their caller is interrupted", () =>
    Effect.gen(function*() {
      const { ask, cancelled, requests } = make()
      const fiber = yield* ask
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(requests.count, 0)
      assert.deepStrictEqual(cancelled, [0])
    }))

  it.effect("die if the answer belongs to another kind of question", () =>
    Effect.gen(function*() {
      const { ask, requests } = make()
      const fiber = yield* ask
      requests.onReply({ _tag: "MovedArena", id: 0 })
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.include(String(exit), "a MovedArena answers another call")
    }))

  it.effect("fail with a thread's first failure, both current and later requests", () =>
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
