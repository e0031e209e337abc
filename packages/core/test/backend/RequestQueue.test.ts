import { TinkerError } from "@effect-rl/core"
import { RequestQueue } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"

const broken = new TinkerError.TinkerError({
  operation: "optimStep",
  reason: new TinkerError.Unavailable({ detail: "disk full" })
})

const closedBecause = (error: TinkerError.TinkerError) =>
  error.reason._tag === "Closed" ? error.reason.detail : undefined

describe("RequestQueue", () => {
  it.effect("accepts calls at once and runs them in submission order", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const gate = yield* Deferred.make<void>()
      const ran: Array<number> = []
      const call = (index: number) =>
        Deferred.await(gate).pipe(Effect.andThen(Effect.sync(() => {
          ran.push(index)
          return index
        })))
      const pendings = yield* Effect.forEach([0, 1, 2], (index) => queue.submit("forward", call(index)))
      assert.deepStrictEqual(ran, [])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Effect.forEach([...pendings].reverse(), (pending) => pending.await), [2, 1, 0])
      assert.deepStrictEqual(ran, [0, 1, 2])
    }))

  it.effect("memoises await, and interrupting it does not cancel the call", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const gate = yield* Deferred.make<void>()
      let runs = 0
      const pending = yield* queue.submit("forward", Effect.andThen(Deferred.await(gate), Effect.sync(() => ++runs)))
      const waiting = yield* Effect.forkChild(pending.await, { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual([yield* pending.await, yield* pending.await, runs], [1, 1, 1])
    }))

  it.effect("continues after an awaited failure", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const pending = yield* queue.submit("optimStep", Effect.fail(broken))
      assert.strictEqual(yield* Effect.flip(pending.await), broken)
      const next = yield* queue.submit("forward", Effect.succeed(1))
      assert.strictEqual(yield* next.await, 1)
    }))

  it.effect("drops the calls behind a decisive call that fails, although the failure is awaited", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const gate = yield* Deferred.make<void>()
      const failing = Effect.andThen(Deferred.await(gate), Effect.fail(broken))
      const pass = yield* queue.submit("forwardBackward", failing, { isDecisive: true })
      let isTaken = false
      const step = yield* queue.submit("optimStep", Effect.sync(() => isTaken = true))
      const failed = yield* Effect.forkChild(Effect.flip(pass.await), { startImmediately: true })
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(yield* Fiber.join(failed), broken)
      const expected = "forwardBackward failed after this was submitted: disk full"
      assert.strictEqual(closedBecause(yield* Effect.flip(step.await)), expected)
      assert.isFalse(isTaken)
      const next = yield* queue.submit("forward", Effect.succeed(1))
      assert.strictEqual(yield* next.await, 1)
    }))

  it.effect("closes if a later call finds a failure that was not awaited, and names it", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const first = yield* queue.submit("optimStep", Effect.fail(broken))
      const second = yield* queue.submit("saveState", Effect.succeed(1))
      const expected = "optimStep failed and nobody awaited it: disk full"
      assert.strictEqual(closedBecause(yield* Effect.flip(second.await)), expected)
      const third = yield* Effect.flip(queue.submit("forward", Effect.succeed(1)))
      assert.strictEqual(closedBecause(third), expected)
      assert.strictEqual(yield* Effect.flip(first.await), broken)
    }))

  it.effect("counts a failure as not awaited if the awaiting fiber was interrupted", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const gate = yield* Deferred.make<void>()
      const pending = yield* queue.submit("optimStep", Effect.andThen(Deferred.await(gate), Effect.fail(broken)))
      yield* Fiber.interrupt(yield* Effect.forkChild(pending.await, { startImmediately: true }))
      const next = yield* queue.submit("forward", Effect.succeed(1))
      yield* Deferred.succeed(gate, undefined)
      assert.include(closedBecause(yield* Effect.flip(next.await)), "optimStep failed")
    }))

  it.effect("runs the calls submitted before it is closed, and refuses later calls", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make
      const pendings = yield* Effect.forEach([1, 2, 3], (value) =>
        queue.submit("forward", Effect.as(Effect.yieldNow, value)))
      yield* queue.close("unloaded")
      assert.strictEqual(queue.size(), 0)
      assert.strictEqual(closedBecause(yield* Effect.flip(queue.submit("forward", Effect.void))), "unloaded")
      assert.deepStrictEqual(
        yield* Effect.forEach(pendings, (pending) =>
          pending.await),
        [1, 2, 3]
      )
    }))

  it.effect("fails waiting calls when its scope closes, and waits for the running call", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const queue = yield* Scope.provide(scope)(RequestQueue.make)
      const started = yield* Deferred.make<void>()
      let isFinished = false
      const critical = Effect.uninterruptible(Effect.gen(function*() {
        yield* Deferred.succeed(started, undefined)
        yield* Effect.yieldNow
        isFinished = true
      }))
      yield* queue.submit("forward", critical)
      const waiting = yield* queue.submit("forward", Effect.never)
      yield* Deferred.await(started)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(isFinished)
      const expected = "the scope of the training client closed"
      assert.strictEqual(closedBecause(yield* Effect.flip(waiting.await)), expected)
      assert.strictEqual(closedBecause(yield* Effect.flip(queue.submit("forward", Effect.void))), expected)
      assert.strictEqual(queue.size(), 0)
    }))
})
