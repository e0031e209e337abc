import { Rl } from "@effect-rl/core"
import { Call } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

/** The parameters that the backend gets for the first step of a run with these settings. */
const firstStep = Effect.fnUntraced(function*(adam: NonNullable<Rl.Options["update"]>["adam"]) {
  const options = yield* Task.options({ update: { adam: adam ?? {} }, run: { iterations: 1 } })
  yield* Stream.runDrain(Rl.run(options))
  const calls = yield* Call.CallLog.use(({ calls }) => calls)
  return calls.find(Call.Call.$is("OptimStep"))?.adam
}, Effect.provide(Task.layer({ sample: Task.answersHalf })))

describe("Adam settings", () => {
  it.effect("reach the backend unchanged, however small", () =>
    Effect.gen(function*() {
      const adam = { beta1: 0.8, beta2: 0.99, eps: 1e-10, weightDecay: 0.01, gradClipNorm: 0.5 }
      assert.deepStrictEqual(yield* firstStep(adam), { learningRate: 1e-2, ...adam })
    }))

  it.effect("have neither decay nor clipping by default", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* firstStep({}), { learningRate: 1e-2, beta1: 0.9, beta2: 0.95, eps: 1e-8 })
    }))
})
