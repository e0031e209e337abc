import { Loss, Tinker } from "@effect-rl/core"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestEngine from "./TestEngine.ts"
import { create, saved, scores, step, texts } from "./TestTraining.ts"

describe("checkpoints", () => {
  layer(TestEngine.layer(2))("of one client", (it) => {
    it.effect("resume exactly like the uninterrupted run", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* create()
        yield* Effect.repeat(step(client), { times: 2 })
        const path = yield* saved(client, "half")
        yield* step(client)
        const resumed = yield* tinker.createTrainingClientFromState(path)
        assert.deepStrictEqual({ ...resumed.info, modelId: "" }, { ...client.info, modelId: "" })
        assert.notStrictEqual(resumed.info.modelId, client.info.modelId)
        yield* step(resumed)
        assert.deepStrictEqual(yield* scores(resumed), yield* scores(client))
        assert.deepStrictEqual(yield* step(resumed), yield* step(client))
      }))

    it.effect("are refused if their digest differs", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* create()
        const save = Effect.fnUntraced(function*(name: string) {
          yield* step(client)
          return [
            yield* Effect.flatMap(client.saveState(name), (pending) => pending.await),
            yield* Effect.flatMap(client.saveWeightsForSampler(name), (pending) => pending.await)
          ] as const
        })
        const [early, earlyWeights] = yield* save("early")
        const [late, lateWeights] = yield* save("late")
        assert.notStrictEqual(early.digest, late.digest)
        for (const { digest = "" } of [early, late]) {
          const resumed = tinker.createTrainingClientFromState(late.path, { digest })
          if (digest === late.digest) assert.deepStrictEqual(yield* scores(yield* resumed), yield* scores(client))
          else assert.include((yield* Effect.flip(resumed)).message, "SHA256SUMS: does not belong to this checkpoint")
        }
        for (const { digest = "" } of [earlyWeights, lateWeights]) {
          const sampler = tinker.createSamplingClient({ modelPath: lateWeights.path, digest })
          if (digest === lateWeights.digest) assert.strictEqual((yield* sampler).modelPath, lateWeights.path)
          else assert.include((yield* Effect.flip(sampler)).message, "SHA256SUMS: does not belong to this checkpoint")
        }
      }))

    it.effect("load weights with a fresh optimizer or with the saved one", () =>
      Effect.gen(function*() {
        const client = yield* create()
        yield* Effect.repeat(step(client), { times: 2 })
        const path = yield* saved(client, "state")
        const [weights, all] = [yield* create({ seed: 8 }), yield* create({ seed: 9 })]
        yield* weights.loadState(path)
        yield* all.loadState(path, { optimizer: true })
        assert.deepStrictEqual(yield* scores(weights), yield* scores(client))
        assert.deepStrictEqual(yield* scores(all), yield* scores(client))
        const [expected, fresh, same] = [yield* step(client), yield* step(weights), yield* step(all)]
        assert.deepStrictEqual(same, expected)
        assert.strictEqual(fresh.grad_norm, expected.grad_norm)
        assert.notStrictEqual(fresh.update_norm, expected.update_norm)
      }))

    it.effect("drop unused gradients on loading", () =>
      Effect.gen(function*() {
        const client = yield* create()
        const path = yield* saved(client, "start")
        const expected = yield* step(client)
        yield* client.forwardBackward(texts, Loss.crossEntropy)
        yield* client.loadState(path)
        assert.deepStrictEqual(yield* step(client), expected)
      }))

    it.effect("can be sampled from, whether saved for training or only for sampling", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* create()
        yield* step(client)
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        const state = yield* saved(client, "state")
        const weights = yield* Effect.flatMap(client.saveWeightsForSampler("weights"), (pending) => pending.await)
        const expected = yield* sampler.computeLogprobs(TestEngine.prompt(3, 30))
        for (const modelPath of [state, weights.path]) {
          const restored = yield* tinker.createSamplingClient({ modelPath })
          assert.strictEqual(restored.modelPath, modelPath)
          assert.deepStrictEqual(yield* restored.computeLogprobs(TestEngine.prompt(3, 30)), expected)
        }
        const { message } = yield* Effect.flip(tinker.createTrainingClientFromState(weights.path))
        assert.include(message, "optimizer")
      }))
  })
})
