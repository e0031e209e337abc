import { TinkerError } from "@effect-rl/core"
import * as Answer from "@effect-rl/tinker/server/Answer"
import * as Futures from "@effect-rl/tinker/server/Futures"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"

const answer = (value: number) => Answer.Plain({ body: { value } })

const wrong = new TinkerError.TinkerError({
  operation: "sample",
  reason: new TinkerError.Rejected({ detail: "wrong" })
})

describe("Futures", () => {
  it.effect("a result is there for every poll", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* futures.begin(Effect.succeed(answer(1)))
      for (let poll = 0; poll < 3; poll++) {
        assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.succeed(answer(1))))
      }
    }))

  it.effect("a failure is a result", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* futures.begin(Effect.fail(wrong))
      assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.fail(wrong)))
    }))

  it.effect("a poll is held for 30 s, and the work goes on when its poller leaves", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const gate = yield* Deferred.make<void>()
      const id = yield* futures.begin(Effect.as(Deferred.await(gate), answer(2)))
      const left = yield* Effect.forkChild(futures.poll(id), { startImmediately: true })
      yield* Fiber.interrupt(left)
      const poll = yield* Effect.forkChild(futures.poll(id), { startImmediately: true })
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* Fiber.join(poll), Option.none())
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* futures.poll(id), Option.some(Exit.succeed(answer(2))))
    }))

  it.effect("the same key runs once; with other content it is a conflict", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      let runs = 0
      const work = Effect.sync(() => answer(++runs))
      const first = yield* futures.begin(work, { key: "seq_id 1", content: "a" })
      assert.strictEqual(yield* futures.begin(work, { key: "seq_id 1", content: "a" }), first)
      assert.strictEqual(runs, 1)
      const refusal = yield* Effect.flip(futures.begin(work, { key: "seq_id 1", content: "b" }))
      assert.strictEqual(refusal.status, 409)
    }))

  it.effect("a result is kept for ten minutes after it was last asked for; unknown ids never were", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const id = yield* futures.begin(Effect.succeed(answer(1)))
      for (let poll = 0; poll < 3; poll++) {
        yield* TestClock.adjust("9 minutes")
        assert.isTrue(Option.isSome(yield* futures.poll(id)))
      }
      yield* TestClock.adjust("11 minutes")
      assert.strictEqual((yield* Effect.flip(futures.poll(id))).status, 410)
      assert.strictEqual((yield* Effect.flip(futures.poll("elsewhere-1"))).status, 404)
      assert.strictEqual((yield* Effect.flip(futures.poll("here-7"))).status, 404)
    }))

  it.effect("what is under way is counted, whatever is kept", () =>
    Effect.gen(function*() {
      const futures = yield* Futures.make("here")
      const gate = yield* Deferred.make<void>()
      yield* futures.begin(Effect.succeed(answer(1)))
      const id = yield* futures.begin(Effect.as(Deferred.await(gate), answer(2)))
      assert.strictEqual(yield* futures.unfinished, 1)
      yield* Deferred.succeed(gate, undefined)
      yield* futures.result(id)
      assert.strictEqual(yield* futures.unfinished, 0)
    }))
})
