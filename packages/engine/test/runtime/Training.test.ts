import { Loss } from "@effect-rl/core"
import { Datum, ModelInput, type TrainingClient } from "@effect-rl/core/backend"
import { assert, describe, it, layer } from "@effect/vitest"
import { Array, Effect, FileSystem } from "effect"
import * as TestEngine from "./TestEngine.ts"
import { adam, create, saved, scores, step, texts, textsOf } from "./TestTraining.ts"

describe("training", () => {
  layer(TestEngine.layer(2))("one client", (it) => {
    it.effect("samples with exactly the log-probabilities that training computes", () =>
      Effect.gen(function*() {
        const client = yield* create()
        for (let round = 0; round < 3; round++) {
          const sampler = yield* client.saveWeightsAndGetSamplingClient
          const prompts = Array.makeBy(8, (index) => TestEngine.prompt(index + round, 5 + 3 * index))
          const responses = yield* Effect.forEach(
            prompts,
            (prompt, index) => sampler.sample({ prompt, numSamples: 4, params: { maxTokens: 16, seed: index } }),
            { concurrency: "unbounded" }
          )
          const samples = Array.zip(prompts, responses).flatMap(([prompt, { sequences }]) =>
            sequences.map((sequence, index) => TestEngine.policyDatum(prompt, sequence, index - 1.5))
          )
          if (!Array.isArrayNonEmpty(samples)) return assert.fail("there are no samples")
          const pass = yield* client.forwardBackward(samples, Loss.importanceSampling)
          const optimizer = yield* client.optimStep(adam)
          const { logprobs } = yield* pass.await
          yield* optimizer.await
          for (const [index, { inputs }] of samples.entries()) {
            for (const [position, sampled] of inputs.logprobs.entries()) {
              if (!Number.isNaN(sampled)) assert.strictEqual(logprobs[index]?.[position], sampled)
            }
          }
        }
      }))

    it.effect("computes the same log-probabilities with shared prefixes, in any order, as for single data", () =>
      Effect.gen(function*() {
        const client = yield* create()
        const prefix = TestEngine.tokensOf(TestEngine.prompt(1, 400))
        const data = Array.makeBy(20, (index) => {
          const own = TestEngine.tokensOf(TestEngine.prompt(index * 7 % 20, 60))
          return TestEngine.textDatum(ModelInput.fromTokens([...prefix, ...own]), 1 / (1 + index))
        })
        const of = (data: Parameters<typeof client.forward<"WeightedTokens">>[0]) =>
          Effect.flatMap(client.forwardBackward(data, Loss.crossEntropy), (pending) => pending.await)
        const together = yield* of(data)
        const alone = yield* Effect.forEach(data, (datum) => of([datum]))
        assert.deepStrictEqual(together.logprobs, alone.flatMap(({ logprobs }) => logprobs))
      }))

    it.effect("returns all log-probabilities, or only those that the loss reads, with the same update", () =>
      Effect.gen(function*() {
        const isPrompt = (t: number) => t < 20 || t > 40
        const data = Array.map(texts, (text) => ({
          ...text,
          inputs: { ...text.inputs, weights: text.inputs.weights.map((weight, t) => isPrompt(t) ? 0 : weight) }
        }))
        const train = Effect.fnUntraced(function*(options?: TrainingClient.PassOptions) {
          const client = yield* create()
          const pass = yield* client.forwardBackward(data, Loss.crossEntropy, options)
          yield* client.optimStep(adam)
          const { logprobs, metrics } = yield* pass.await
          return { logprobs, metrics, after: yield* scores(client) }
        })
        const [all, counted] = [yield* train(), yield* train({ logprobs: "counted" })]
        assert.deepStrictEqual(all.logprobs, yield* scores(yield* create()))
        assert.deepStrictEqual(
          counted.logprobs,
          all.logprobs.map((own) => own.map((logprob, t) => isPrompt(t) ? NaN : logprob))
        )
        assert.deepStrictEqual(counted.metrics, all.metrics)
        for (const [index, own] of counted.after.entries()) {
          own.forEach((logprob, t) => assert.closeTo(logprob, all.after[index]?.[t] ?? NaN, 1e-4))
        }
      }))

    it.effect("executes calls in submission order without awaiting any in between", () =>
      Effect.gen(function*() {
        const client = yield* create()
        const before = yield* client.forward(texts, Loss.crossEntropy)
        const pass = yield* client.forwardBackward(texts, Loss.crossEntropy)
        const optimizer = yield* client.optimStep(adam)
        const after = yield* client.forward(texts, Loss.crossEntropy)
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        const later = yield* client.forwardBackward(texts, Loss.crossEntropy)
        const [scoredBefore, trained, scoredAfter, trainedLater] = [
          yield* before.await,
          yield* pass.await,
          yield* after.await,
          yield* later.await
        ]
        yield* optimizer.await
        assert.deepStrictEqual(scoredBefore, trained)
        assert.deepStrictEqual(scoredAfter, trainedLater)
        assert.isBelow(scoredAfter.metrics["loss:sum"] ?? NaN, scoredBefore.metrics["loss:sum"] ?? NaN)
        const sampled = yield* sampler.computeLogprobs(TestEngine.prompt(2, 47))
        assert.deepStrictEqual(sampled.slice(1), scoredAfter.logprobs[2])
      }))

    it.effect("reports the loss as an f64 sum over the returned tokens", () =>
      Effect.gen(function*() {
        const client = yield* create()
        const { logprobs, metrics } = yield* Effect.flatMap(client.forward(texts, Loss.crossEntropy), (pending) =>
          pending.await)
        const loss = logprobs.map((logprobsT, index) =>
          logprobsT.reduce((sum, logprob, t) =>
            sum - logprob * (texts[index]?.inputs.weights[t] ?? 0), 0)
        )
        const expected = loss.reduce((sum, value) => sum + value, 0)
        assert.closeTo(metrics["loss:sum"] ?? NaN, expected, 1e-9 * expected)
      }))

    it.effect("trains soft targets as the weighted sum over candidates", () =>
      Effect.gen(function*() {
        const client = yield* create()
        const modelInput = TestEngine.prompt(1, 6)
        const candidate = (targetTokens: ReadonlyArray<number>, weight: number) =>
          Datum.weightedTokens(modelInput, {
            targetTokens: Int32Array.from(targetTokens),
            weights: new Float32Array(6).fill(weight)
          })
        const [left, right] = [[1, 2, 3, 4, 5, 6], [9, 8, 7, 6, 5, 4]]
        const soft: Datum.Datum<"WeightedCandidates"> = {
          kind: "WeightedCandidates",
          modelInput,
          inputs: {
            candidates: 2,
            targetTokens: Int32Array.from(left.flatMap((token, t) => [token, right[t] ?? 0])),
            weights: Float32Array.from(left.flatMap(() => [0.25, 0.75]))
          }
        }
        const norm = (pass: Effect.Effect<unknown, unknown>) =>
          Effect.gen(function*() {
            yield* pass
            const optimizer = yield* client.optimStep({ learningRate: 0 })
            return (yield* optimizer.await).metrics.grad_norm ?? NaN
          })
        const expected = yield* norm(
          client.forwardBackward([candidate(left, 0.25), candidate(right, 0.75)], Loss.crossEntropy)
        )
        const actual = yield* norm(client.forwardBackward([soft], Loss.crossEntropyCandidates))
        assert.closeTo(actual, expected, 1e-5 * expected)
        const { logprobs: [byCandidate = new Float32Array()], metrics } = yield* Effect.flatMap(
          client.forward([soft], Loss.crossEntropyCandidates),
          (pending) => pending.await
        )
        assert.strictEqual(byCandidate.length, soft.inputs.weights.length)
        const total = byCandidate.reduce((sum, value, at) => sum - value * (soft.inputs.weights[at] ?? NaN), 0)
        assert.closeTo(total, metrics["loss:sum"] ?? NaN, 1e-4)
      }))

    it.effect("applies a custom loss through its gradient: hand-written importance sampling gives the same step", () =>
      Effect.gen(function*() {
        const [builtIn, custom] = [yield* create(), yield* create()]
        const sampler = yield* builtIn.saveWeightsAndGetSamplingClient
        const prompt = TestEngine.prompt(4)
        const { sequences: [sample] } = yield* sampler.sample({ prompt, params: { maxTokens: 20, seed: 1 } })
        if (sample === undefined) return assert.fail("there is no sample")
        const datum = TestEngine.policyDatum(prompt, sample, 0.7)
        yield* step(builtIn)
        yield* step(custom)
        const { advantages, logprobs: sampled, mask, targetTokens } = datum.inputs
        const pass = yield* builtIn.forwardBackward([datum], Loss.importanceSampling)
        const weighted = Datum.weightedTokens(datum.modelInput, {
          targetTokens,
          weights: new Float32Array(targetTokens.length)
        })
        const byHand = yield* custom.forwardBackwardCustom([weighted], (_, [logprobsT = new Float32Array()]) => {
          const lossT = Array.makeBy(
            logprobsT.length,
            (t) => mask[t] === 0 ? 0 : -Math.exp((logprobsT[t] ?? 0) - (sampled[t] ?? 0)) * (advantages[t] ?? 0)
          )
          const loss = lossT.reduce((sum, value) => sum + value, 0)
          return Effect.succeed({ loss, gradients: [Float32Array.from(lossT)], metrics: { tokens: lossT.length } })
        })
        const [expected, actual] = [yield* pass.await, yield* byHand.await]
        assert.deepStrictEqual(actual.logprobs, expected.logprobs)
        assert.deepStrictEqual(actual.metrics, { ...expected.metrics, tokens: targetTokens.length })
        const [left, right] = [yield* builtIn.optimStep(adam), yield* custom.optimStep(adam)]
        assert.deepStrictEqual(yield* left.await, yield* right.await)
      }))
  })

  it.effect("yields the same bytes with any number of workers", () =>
    Effect.gen(function*() {
      const run = Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const client = yield* create()
        const metrics = [yield* step(client, textsOf(40)), yield* step(client, textsOf(30))]
        yield* saved(client, "end")
        const folder = `${yield* TestEngine.Root}/${client.info.modelId}/weights/end`
        const files = yield* Effect.forEach(yield* fs.readDirectory(folder), (name) =>
          Effect.map(fs.readFile(`${folder}/${name}`), (bytes) => [name, bytes] as const))
        return { metrics, files }
      })
      const [inline, one, two] = yield* Effect.forEach([0, 1, 2], (workers) =>
        Effect.scoped(run).pipe(Effect.provide(TestEngine.layer(workers))))
      const names = inline?.files.map(([name]) =>
        name
      ).sort()
      assert.deepStrictEqual(names, [
        "SHA256SUMS",
        "adapter_config.json",
        "adapter_model.safetensors",
        "optimizer.safetensors"
      ])
      assert.deepStrictEqual(one, inline)
      assert.deepStrictEqual(two, inline)
    }))
})
