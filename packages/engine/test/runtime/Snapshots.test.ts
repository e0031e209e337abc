import { Tinker } from "@effect-rl/core"
import { assert, describe, layer } from "@effect/vitest"
import { Array, Effect } from "effect"
import * as TestEngine from "./TestEngine.ts"
import { create, step } from "./TestTraining.ts"

describe("snapshots", () => {
  layer(TestEngine.layer(2))("of one client", (it) => {
    it.effect("do not change during further training", () =>
      Effect.gen(function*() {
        const client = yield* create()
        yield* step(client)
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        const prompt = TestEngine.prompt(3, 30)
        const before = yield* sampler.computeLogprobs(prompt)
        yield* step(client)
        const next = yield* client.saveWeightsAndGetSamplingClient
        assert.deepStrictEqual(yield* sampler.computeLogprobs(prompt), before)
        assert.notDeepEqual(yield* next.computeLogprobs(prompt), before)
      }))
  })

  layer(TestEngine.layer(1))("of different steps", (it) => {
    it.effect("give the same samples together as alone", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* create()
        const samplers = [yield* tinker.createSamplingClient({ baseModel: TestEngine.model })]
        for (let round = 0; round < 3; round++) {
          yield* step(client)
          samplers.push(yield* client.saveWeightsAndGetSamplingClient)
        }
        const requests = samplers.flatMap((sampler) =>
          Array.makeBy(6, (index) => {
            const request = {
              prompt: TestEngine.prompt(index, 12),
              numSamples: 2,
              params: { maxTokens: 12, seed: index }
            }
            return sampler.sample(request)
          })
        )
        const alone = yield* Effect.all(requests)
        assert.deepStrictEqual(yield* Effect.all(requests, { concurrency: "unbounded" }), alone)
        assert.strictEqual(new Set(alone.map(({ sequences: [first] }) => first?.logprobs.join())).size, requests.length)
      }))
  })
})
