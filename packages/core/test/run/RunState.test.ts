import { RunStore } from "@effect-rl/core"
import * as RunState from "@effect-rl/core/run/RunState"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"

const begun = (evaluator: string) => ({
  entry: { _tag: "Evaluating" as const, iteration: 0, step: 0, evaluator }
})

describe("a ledger", () => {
  it.effect("emits records while the effect that appends them continues", () =>
    Effect.gen(function*() {
      const { append, records, watch } = yield* RunState.makeLedger
      const gate = yield* Deferred.make<void>()
      const effect = Effect.andThen(append(begun("first")), Deferred.await(gate))
      const seen: Array<string> = []
      const listening = yield* Effect.forkChild(
        Stream.runForEach(records(watch(effect)), (record) =>
          Effect.sync(() => seen.push(record._tag === "Evaluating" ? record.evaluator : record._tag))),
        { startImmediately: true }
      )
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      assert.deepStrictEqual(seen, ["first"])
      yield* append(begun("second"))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(listening)
      assert.deepStrictEqual(seen, ["first", "second"])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("emits what was appended before a failure, then the failure", () =>
    Effect.gen(function*() {
      const { append, records } = yield* RunState.makeLedger
      const stages = Stream.fromEffect(Effect.andThen(append(begun("last")), Effect.fail("broken")))
      const seen: Array<string> = []
      const error = yield* Effect.flip(
        Stream.runForEach(records(stages), ({ _tag }) => Effect.sync(() => seen.push(_tag)))
      )
      assert.deepStrictEqual([seen, error], [["Evaluating"], "broken"])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))
})
