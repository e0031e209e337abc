import { Loss } from "@effect-rl/core"
import { assert, describe, layer } from "@effect/vitest"
import { Array, Effect } from "effect"
import * as TestEngine from "./TestEngine.ts"
import { adam, create, scores, step, texts } from "./TestTraining.ts"

describe("a training client", () => {
  layer(TestEngine.layer(2))("with two workers", (it) => {
    it.effect("accumulates gradients until an optimizer step uses them", () =>
      Effect.gen(function*() {
        const [whole, parts] = [yield* create(), yield* create()]
        const expected = yield* step(whole)
        const [first, second] = [Array.take(texts, 5), Array.drop(texts, 5)]
        if (!Array.isArrayNonEmpty(first) || !Array.isArrayNonEmpty(second)) return assert.fail("a part is empty")
        yield* parts.forwardBackward(first, Loss.crossEntropy)
        const { grad_norm, update_norm } = yield* step(parts, second)
        assert.closeTo(grad_norm ?? NaN, expected.grad_norm ?? NaN, 1e-5 * (expected.grad_norm ?? NaN))
        assert.closeTo(update_norm ?? NaN, expected.update_norm ?? NaN, 1e-3 * (expected.update_norm ?? NaN))
        const again = yield* step(parts)
        assert.isBelow(again.grad_norm ?? NaN, 1.5 * (expected.grad_norm ?? NaN))
      }))

    it.effect("refuses a non-finite update, keeps the weights and continues", () =>
      Effect.gen(function*() {
        const client = yield* create()
        yield* step(client)
        const before = yield* scores(client)
        yield* client.forwardBackward(texts, Loss.crossEntropy)
        const pending = yield* client.optimStep({ learningRate: 1e30 })
        const { message } = yield* Effect.flip(pending.await)
        assert.match(
          message,
          /^optimStep: the update is not finite: the gradient's norm is \d.*; the weights stay as they were/
        )
        assert.deepStrictEqual(yield* scores(client), before)
        const other = yield* create()
        yield* step(other)
        assert.deepStrictEqual(yield* step(client), yield* step(other))
        assert.deepStrictEqual(yield* scores(client), yield* scores(other))
      }))

    it.effect("refuses to draw tokens from non-finite logits of overly large weights", () =>
      Effect.gen(function*() {
        const client = yield* create()
        for (const learningRate of [1, 1e10]) {
          yield* client.forwardBackward(texts, Loss.crossEntropy)
          yield* client.optimStep({ learningRate })
        }
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        for (const temperature of [0, 1]) {
          const request = { prompt: TestEngine.prompt(1), params: { maxTokens: 3, seed: 1, temperature } }
          const { message } = yield* Effect.flip(sampler.sample(request))
          assert.include(message, "sample: the weights give logits that are not finite, so no token can be drawn")
        }
      }))

    for (const loraRank of [64, 100, 128]) {
      it.effect(`learns with rank ${loraRank}, and samples with the log-probabilities it trains with`, () =>
        Effect.gen(function*() {
          const client = yield* create({ loraRank })
          const first = yield* step(client)
          yield* step(client)
          const last = yield* step(client)
          assert.isBelow(last["loss:sum"] ?? NaN, first["loss:sum"] ?? NaN)
          const sampler = yield* client.saveWeightsAndGetSamplingClient
          const prompt = TestEngine.prompt(3, 20)
          const { sequences } = yield* sampler.sample({ prompt, numSamples: 4, params: { maxTokens: 16, seed: 2 } })
          const samples = sequences.map((sequence) => TestEngine.policyDatum(prompt, sequence, 1))
          if (!Array.isArrayNonEmpty(samples)) return assert.fail("there are no samples")
          const pass = yield* client.forward(samples, Loss.importanceSampling)
          const { logprobs } = yield* pass.await
          for (const [index, { logprobs: sampled }] of sequences.entries()) {
            assert.deepStrictEqual(logprobs[index]?.slice(19), sampled)
          }
        }))
    }

    it.effect("clips gradients to a norm and reports the norm before clipping", () =>
      Effect.gen(function*() {
        const [free, clipped] = [yield* create(), yield* create()]
        const plain = yield* step(free)
        yield* clipped.forwardBackward(texts, Loss.crossEntropy)
        const optimizer = yield* clipped.optimStep({ ...adam, gradClipNorm: 1e-9, eps: 1 })
        const { metrics } = yield* optimizer.await
        assert.strictEqual(metrics.grad_norm, plain.grad_norm)
        assert.isBelow(metrics.update_norm ?? NaN, 1e-6 * (plain.update_norm ?? NaN))
      }))

    it.effect("starts with equal weights for equal seeds and different weights for different seeds", () =>
      Effect.gen(function*() {
        const gradient = (seed: number) => Effect.flatMap(create({ seed }), step)
        const [first, second, third] = [yield* gradient(1), yield* gradient(1), yield* gradient(2)]
        assert.deepStrictEqual(first, second)
        assert.notStrictEqual(first.grad_norm, third.grad_norm)
      }))
  })
})
