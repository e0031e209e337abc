/** Hop sampling on the engine: what a turn of several requests comes to. */
import { HopSampling, Loss, ModelInput, Policy, Tinker } from "@effect-rl/core"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestEngine from "./TestEngine.ts"

const tokenizer = { decode: () => "" }
const sampling = { maxTokens: 20, seed: 5 }

layer(TestEngine.layer(1))("Hop sampling", (it) => {
  it.effect("samples the tokens and log-probabilities of one request while weights do not change", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const client = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
      const ordinary = Policy.fromSamplingClient(client, sampling)
      for (const every of [undefined, 7, 1]) {
        const hopping = HopSampling.policy(Effect.succeed({ client, step: 2 }), sampling, { every, tokenizer })
        for (let member = 0; member < 4; member++) {
          const key = { iteration: 0, group: "g", member, attempt: 0, turn: 1 }
          const request = { prompt: TestEngine.prompt(member), stop: [], key }
          const expected = yield* ordinary.act(request)
          const found = yield* hopping.act(request)
          assert.deepStrictEqual(Array.from(found.tokens), Array.from(expected.tokens))
          for (const [t, logprob] of expected.logprobs.entries()) {
            assert.approximately(found.logprobs[t] ?? NaN, logprob, 1e-5)
          }
          assert.strictEqual(found.stopReason, expected.stopReason)
          assert.lengthOf(found.weights ?? [], Math.ceil(20 / (every ?? 20)))
        }
      }
    }))

  it.effect("goes on with weights that were trained meanwhile, and says so", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const training = yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 8, seed: 1 })
      const before = yield* training.saveWeightsAndGetSamplingClient
      const prompt = TestEngine.prompt(0)
      const pass = yield* training.forwardBackward([TestEngine.textDatum(TestEngine.prompt(1, 20))], Loss.crossEntropy)
      const step = yield* training.optimStep({ learningRate: 0.05 })
      yield* pass.await
      yield* step.await
      const after = yield* training.saveWeightsAndGetSamplingClient
      const samplers = [{ client: before, step: 0 }, { client: after, step: 1 }] as const
      let request = 0
      const newest = Effect.sync(() => samplers[request++ === 0 ? 0 : 1])
      const key = { iteration: 0, group: "g", member: 0, attempt: 0, turn: 0 }
      const act = (policy: Policy.Policy<unknown>) => policy.act({ prompt, stop: [], key })
      const hopped = yield* act(HopSampling.policy(newest, sampling, { every: 8, tokenizer }))
      const [old, trained] = [
        yield* act(Policy.fromSamplingClient(before, sampling)),
        yield* after.computeLogprobs(ModelInput.append(prompt, hopped.tokens))
      ]
      assert.deepStrictEqual(hopped.weights?.map(({ length, step }) => [step, length]), [[0, 8], [1, 8], [1, 4]])
      assert.deepStrictEqual(Array.from(hopped.tokens.subarray(0, 8)), Array.from(old.tokens.subarray(0, 8)))
      for (let t = 8; t < 20; t++) {
        assert.approximately(hopped.logprobs[t] ?? NaN, trained[prompt.length + t] ?? NaN, 1e-4)
      }
    }))
})
