import { Metering, ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"

const prompt = ModelInput.fromTokens([1, 2, 3, 4])

/** A client whose answers have two tokens, and report three cached prompt tokens. */
const client: SamplingClient.SamplingClient = {
  modelPath: "some-model",
  computeLogprobs: ({ length }) => Effect.succeed(new Float32Array(length)),
  sample: () =>
    Effect.succeed({
      sequences: [{ tokens: Int32Array.of(5, 6), logprobs: Float32Array.of(-1, -1), stopReason: "stop" }],
      promptCacheHitTokens: 3
    })
}

const request = { prompt, numSamples: 2, params: { maxTokens: 8 } }

describe("Metering.counter", () => {
  it.effect("adds up the tokens and judge calls of each model, and reports a model without token counts as undefined", () =>
    Effect.gen(function*() {
      const { metering, used } = Metering.counter()
      const metered = metering.meter(client)
      yield* metered.sample(request)
      yield* metered.computeLogprobs(prompt)
      yield* metering.judge(Effect.void, undefined)
      yield* metering.count("outside", { prefilled: 7, sampled: 1, trained: 0 })
      yield* metering.count("silent", undefined)
      assert.deepStrictEqual(used(), [
        ["some-model", { prefilled: 8, sampled: 2, trained: 0, cached: 3, judgeCalls: 0 }],
        ["judge", { prefilled: 0, sampled: 0, trained: 0, cached: 0, judgeCalls: 1 }],
        ["outside", { prefilled: 7, sampled: 1, trained: 0, cached: 0, judgeCalls: 0 }],
        ["silent", undefined]
      ])
    }))

  it.effect("counts an interrupted request as its worst case, and a failed request as nothing", () =>
    Effect.gen(function*() {
      const { metering, used } = Metering.counter()
      const hanging = yield* Effect.forkChild(metering.meter({ ...client, sample: () => Effect.never }).sample(request))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(hanging)
      yield* Effect.exit(metering.meter({ ...client, sample: () => Effect.die("broken") }).sample(request))
      assert.deepStrictEqual(used(), [
        ["some-model", { prefilled: 4, sampled: 16, trained: 0, cached: 0, judgeCalls: 0 }]
      ])
    }))
})
