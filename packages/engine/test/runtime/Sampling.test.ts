import { Tinker } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { Tokenizer } from "@effect-rl/core/renderers"
import { assert, describe, it, layer } from "@effect/vitest"
import { Array, Effect, Random } from "effect"
import * as TestEngine from "./TestEngine.ts"

const base = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: TestEngine.model }))

const params = (options: Partial<Sampling.SamplingParams> = {}): Sampling.SamplingParams => ({
  maxTokens: 12,
  seed: 5,
  ...options
})

/** The most likely next tokens after a prompt, most likely first. */
const nextTokens = Effect.fnUntraced(function*(prompt: ModelInput.ModelInput, count: number) {
  const sampler = yield* base
  const request = {
    prompt: ModelInput.append(prompt, [1]),
    params: params({ maxTokens: 1 }),
    topkPromptLogprobs: count
  }
  const { topkPromptLogprobs = [] } = yield* sampler.sample(request)
  return topkPromptLogprobs.at(-1) ?? []
})

/** The number of times that each token came first in many samples. */
const firstTokens = Effect.fnUntraced(function*(
  prompt: ModelInput.ModelInput,
  count: number,
  options: Partial<Sampling.SamplingParams>
) {
  const sampler = yield* base
  const request = { prompt, numSamples: count, params: params({ maxTokens: 1, ...options }) }
  const { sequences } = yield* sampler.sample(request)
  const counts = new Map<number, number>()
  for (const { tokens: [token = -1] } of sequences) counts.set(token, (counts.get(token) ?? 0) + 1)
  return counts
})

/** Checks that every count is within 4.5 standard deviations of its expectation, and that nothing else occurs. */
const assertDistribution = (
  counts: ReadonlyMap<number, number>,
  weights: ReadonlyMap<number, number>,
  samples: number
) => {
  const total = Array.fromIterable(weights.values()).reduce((sum, weight) => sum + weight, 0)
  for (const token of counts.keys()) assert.isTrue(weights.has(token), `token ${token} was filtered out`)
  for (const [token, weight] of weights) {
    const p = weight / total
    const deviation = Math.abs((counts.get(token) ?? 0) - samples * p)
    assert.isAtMost(deviation, 4.5 * Math.sqrt(samples * p * (1 - p)) + 1, `token ${token} with p ${p}`)
  }
}

/** 64 requests with different prompts, seeds, lengths and temperatures. */
const mixed = Array.makeBy(64, (index): Sampling.SampleRequest => ({
  prompt: TestEngine.prompt(index % 11, 3 + index % 17),
  numSamples: 1 + index % 3,
  params: params({
    seed: index,
    maxTokens: 1 + index % 9,
    temperature: (index % 4) / 2,
    topP: index % 5 === 0 ? 0.8 : 1
  })
}))

const sampleAll = Effect.fnUntraced(function*(
  requests: ReadonlyArray<Sampling.SampleRequest>,
  concurrency: number | "unbounded"
) {
  const sampler = yield* base
  return yield* Effect.forEach(requests, sampler.sample, { concurrency })
}, Effect.scoped)

describe("sampling", () => {
  layer(TestEngine.layer(2))("with two workers", (it) => {
    it.effect("gives a request the same samples alone, in a batch and in any order of arrival", () =>
      Effect.gen(function*() {
        const together = yield* sampleAll(mixed, "unbounded")
        assert.deepStrictEqual(yield* sampleAll(mixed, 1), together)
        assert.deepStrictEqual((yield* sampleAll([...mixed].reverse(), "unbounded")).reverse(), together)
      }))

    it.effect("gives sample i the result of a single request with seed + i", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(3)
        const group = yield* sampler.sample({ prompt, numSamples: 6, params: params() })
        const singles = yield* Effect.forEach(Array.range(5, 10), (seed) =>
          sampler.sample({ prompt, params: params({ seed }) }))
        assert.deepStrictEqual(
          group.sequences,
          singles.flatMap(({ sequences }) =>
            sequences
          )
        )
        assert.isAbove(new Set(group.sequences.map(({ tokens }) => tokens.join())).size, 1)
      }))

    it.effect("draws another seed for each request without one", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const request = { prompt: TestEngine.prompt(1), params: { maxTokens: 30 } }
        const [first, second] = yield* Random.withSeed(
          Effect.all([sampler.sample(request), sampler.sample(request)]),
          "two requests"
        )
        assert.notDeepEqual(first, second)
      }))

    it.effect("takes the most likely token at temperature 0", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(2)
        const { sequences: [greedy] } = yield* sampler.sample({ prompt, params: params({ temperature: 0 }) })
        const whole = ModelInput.append(prompt, greedy?.tokens ?? [])
        const request = { prompt: whole, params: params({ maxTokens: 1 }), topkPromptLogprobs: 1 }
        const { topkPromptLogprobs = [] } = yield* sampler.sample(request)
        const best = topkPromptLogprobs.slice(prompt.length).map(([top]) => top)
        assert.deepStrictEqual(best.map((top) => top?.token), Array.fromIterable(greedy?.tokens ?? []))
        assert.deepStrictEqual(best.map((top) => top?.logprob), Array.fromIterable(greedy?.logprobs ?? []))
      }))

    it.effect("takes the most likely token if f32 cannot represent 1/temperature", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const sample = (options: Partial<Sampling.SamplingParams>) =>
          sampler.sample({ prompt: TestEngine.prompt(4), params: params({ maxTokens: 12, seed: 9, ...options }) })
        const greedy = yield* sample({ temperature: 0 })
        for (const temperature of [2.9e-39, 1e-45, 5e-324]) {
          assert.deepStrictEqual(yield* sample({ temperature }), greedy)
          assert.deepStrictEqual(yield* sample({ temperature, topK: 5, topP: 0.9 }), greedy)
        }
      }))

    it.effect("samples in proportion to the probabilities, with the temperature applied", () =>
      Effect.gen(function*() {
        const prompt = TestEngine.prompt(4)
        const next = yield* nextTokens(prompt, 20)
        for (const temperature of [0.7, 1, 2]) {
          const weights = new Map(next.map(({ logprob, token }) => [token, Math.exp(logprob / temperature)]))
          const counts = yield* firstTokens(prompt, 2000, { temperature, topK: 20 })
          assertDistribution(counts, weights, 2000)
        }
      }))

    it.effect("applies topK, then keeps the fewest tokens that reach topP", () =>
      Effect.gen(function*() {
        const prompt = TestEngine.prompt(6)
        const next = yield* nextTokens(prompt, 8)
        const weights = next.map(({ logprob, token }) => [token, Math.exp(logprob)] as const)
        assertDistribution(yield* firstTokens(prompt, 1000, { topK: 3 }), new Map(weights.slice(0, 3)), 1000)
        const total = weights.reduce((sum, [, weight]) => sum + weight, 0)
        const exclusive = weights.map((_, index) =>
          weights.slice(0, index).reduce((sum, [, weight]) => sum + weight, 0) / total
        )
        const kept = weights.filter((_, index) => (exclusive[index] ?? 1) < 0.6)
        assertDistribution(yield* firstTokens(prompt, 1000, { topK: 8, topP: 0.6 }), new Map(kept), 1000)
        const [first] = next
        assert.deepStrictEqual([...(yield* firstTokens(prompt, 50, { topP: 1e-9 })).keys()], [first?.token])
      }))

    it.effect("keeps all tokens if topK is at least the vocabulary size", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const draw = (topK: number) =>
          sampler.sample({ prompt: TestEngine.prompt(6), numSamples: 20, params: params({ topK, temperature: 2 }) })
        const expected = yield* draw(-1)
        for (const topK of [512, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
          assert.deepStrictEqual(yield* draw(topK), expected)
        }
      }))

    it.effect("returns log-probabilities of the unfiltered distribution", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(8)
        const { sequences: [sample] } = yield* sampler.sample({
          prompt,
          params: params({ temperature: 1.7, topK: 9, topP: 0.9 })
        })
        const scores = yield* sampler.computeLogprobs(ModelInput.append(prompt, sample?.tokens ?? []))
        assert.deepStrictEqual(scores.slice(prompt.length), sample?.logprobs)
      }))

    it.effect("computes the same bits in shared pages and in a separate cache", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        for (const length of [31, 32, 33, 100]) {
          const prompt = TestEngine.prompt(length, length)
          const { sequences } = yield* sampler.sample({ prompt, numSamples: 5, params: params({ maxTokens: 40 }) })
          const again = ModelInput.append(prompt, sequences[1]?.tokens.subarray(0, 9) ?? [])
          const { sequences: later } = yield* sampler.sample({ prompt: again, numSamples: 2, params: params() })
          const all = [
            ...sequences.map((sample) => [prompt, sample] as const),
            ...later.map((sample) => [again, sample] as const)
          ]
          for (const [from, { logprobs, tokens }] of all) {
            const scores = yield* sampler.computeLogprobs(ModelInput.append(from, tokens))
            assert.deepStrictEqual(scores.slice(from.length), logprobs)
          }
        }
      }))

    it.effect("scores prompts from the second token on, with and without sampling", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(5, 300)
        const scores = yield* sampler.computeLogprobs(prompt)
        assert.strictEqual(scores.length, 300)
        assert.isNaN(scores[0])
        assert.isTrue(scores.slice(1).every((score) => score < 0))
        const request = { prompt, numSamples: 3, params: params(), promptLogprobs: true, topkPromptLogprobs: 20 }
        const response = yield* sampler.sample(request)
        assert.deepStrictEqual(response.promptLogprobs, scores)
        assert.deepStrictEqual(
          response.sequences,
          (yield* sampler.sample({ prompt, numSamples: 3, params: params() })).sequences
        )
        assert.deepStrictEqual(yield* sampler.computeLogprobs(TestEngine.prompt(5, 1)), Float32Array.of(NaN))
      }))

    it.effect("lists the likeliest tokens of each prompt position, most likely first", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(9)
        const request = { prompt, params: params({ maxTokens: 1 }), promptLogprobs: true, topkPromptLogprobs: 20 }
        const { promptLogprobs, topkPromptLogprobs = [] } = yield* sampler.sample(request)
        assert.deepStrictEqual(topkPromptLogprobs.map((top) => top.length), [
          0,
          ...Array.replicate(20, prompt.length - 1)
        ])
        for (const [position, top] of topkPromptLogprobs.entries()) {
          const logprobs = top.map(({ logprob }) => logprob)
          assert.deepStrictEqual(logprobs, [...logprobs].sort((left, right) => right - left))
          const own = top.find(({ token }) => token === TestEngine.tokensOf(prompt)[position])
          if (own !== undefined) assert.strictEqual(own.logprob, promptLogprobs?.[position])
        }
      }))

    it.effect("lists the likeliest tokens of each sampled position, from the unfiltered distribution", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(4, 12)
        const request = {
          prompt,
          numSamples: 2,
          params: { maxTokens: 6, seed: 5, temperature: 0 },
          topkSampleLogprobs: 3
        }
        const { sequences } = yield* sampler.sample(request)
        for (const { logprobs, tokens, topkLogprobs = [] } of sequences) {
          assert.deepStrictEqual(topkLogprobs.map((top) => top.length), Array.makeBy(tokens.length, () => 3))
          assert.deepStrictEqual(topkLogprobs.map(([best]) => best?.token), Array.fromIterable(tokens))
          assert.deepStrictEqual(topkLogprobs.map(([best]) => best?.logprob), Array.fromIterable(logprobs))
        }
        const { sequences: [plain] } = yield* sampler.sample({ ...request, topkSampleLogprobs: 0 })
        assert.isUndefined(plain?.topkLogprobs)
      }))

    it.effect("refuses to list more tokens than it can, and tokens outside the vocabulary", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const refusal = (more: Partial<Sampling.SampleRequest>) =>
          Effect.map(
            Effect.flip(sampler.sample({ prompt: TestEngine.prompt(1, 3), params: { maxTokens: 1 }, ...more })),
            ({ message }) => message
          )
        assert.include(yield* refusal({ topkSampleLogprobs: 21 }), "21 asked for, at most 20")
        assert.include(yield* refusal({ topkSampleLogprobs: 0.5 }), "topkSampleLogprobs is 0.5")
        const targetPromptLogprobs = { tokens: Int32Array.of(1, 512), candidates: 1 }
        assert.include(
          yield* refusal({ targetPromptLogprobs }),
          "targetPromptLogprobs.tokens[1] is 512, expected -1 or"
        )
      }))

    it.effect("scores requested tokens instead of the prompt's, with and without other scores", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(6, 10)
        const own = TestEngine.tokensOf(prompt)
        const expected = yield* sampler.computeLogprobs(prompt)
        const tokens = Int32Array.from(own.slice(1).flatMap((token, t) => [token, t % 2 === 0 ? -1 : 7]))
        const ask = { prompt, params: { maxTokens: 1 }, targetPromptLogprobs: { tokens, candidates: 2 } }
        const { targetPromptLogprobs } = yield* sampler.sample(ask)
        const cells = targetPromptLogprobs?.logprobs ?? new Float32Array()
        assert.strictEqual(targetPromptLogprobs?.candidates, 2)
        assert.deepStrictEqual(cells.filter((_, cell) => cell % 2 === 0), expected.slice(1))
        for (let t = 0; t < 9; t++) {
          const [ownScore = NaN, other = NaN] = cells.subarray(2 * t)
          if (t % 2 === 0) assert.strictEqual(other, 0)
          else assert.isTrue(other < 0 && other !== ownScore)
        }
        const both = yield* sampler.sample({ ...ask, numSamples: 3, promptLogprobs: true, topkPromptLogprobs: 2 })
        assert.deepStrictEqual(both.targetPromptLogprobs, targetPromptLogprobs)
        assert.deepStrictEqual(both.promptLogprobs, expected)
      }))

    it.effect("ends with the stop, which is part of the sample, or at maxTokens", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const prompt = TestEngine.prompt(7)
        const { sequences: [free] } = yield* sampler.sample({ prompt, params: params({ maxTokens: 20, stop: [] }) })
        assert.strictEqual(free?.stopReason, "length")
        assert.strictEqual(free?.tokens.length, 20)
        const stop = free?.tokens[6] ?? -1
        const { sequences: [stopped] } = yield* sampler.sample({
          prompt,
          params: params({ maxTokens: 20, stop: [stop] })
        })
        const length = (free?.tokens.indexOf(stop) ?? -1) + 1
        assert.deepStrictEqual(stopped, {
          stopReason: "stop",
          tokens: free?.tokens.slice(0, length) ?? new Int32Array(),
          logprobs: free?.logprobs.slice(0, length) ?? new Float32Array()
        })
      }))

    it.effect("ends at the end-of-sequence token by default or with stop strings, but not with stop token ids", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const sampler = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
        const { eosTokenId = -1 } = yield* Effect.flatMap(Tokenizer.Tokenizers, ({ load }) => load(TestEngine.model))
        const ends = (stop?: Sampling.Stop) =>
          Effect.map(
            sampler.sample({
              prompt: TestEngine.prompt(4),
              numSamples: 64,
              params: params({ maxTokens: 100, temperature: 1.5, seed: 1, ...(stop === undefined ? {} : { stop }) })
            }),
            ({ sequences }) =>
              sequences.some(({ stopReason, tokens }) => stopReason === "stop" && tokens.at(-1) === eosTokenId)
          )
        assert.isTrue(yield* ends())
        assert.isTrue(yield* ends(["no text has this"]))
        assert.isFalse(yield* ends([]))
        assert.isFalse(yield* ends([eosTokenId === 0 ? 1 : 0]))
      }))

    it.effect("ends with the token that completes a stop string, wherever the string begins and ends", () =>
      Effect.gen(function*() {
        const sampler = yield* base
        const tokenizer = yield* Effect.flatMap(Tokenizer.Tokenizers, (tokenizers) => tokenizers.load(TestEngine.model))
        const prompt = ModelInput.fromTokens(tokenizer.encode("<|im_start|>assistant\n2+5=7,1+3=4 so"))
        const { sequences: [free] } = yield* sampler.sample({ prompt, params: params({ maxTokens: 20 }) })
        const text = tokenizer.decode(free?.tokens ?? [])
        for (const stop of [text.slice(3, 8), text.slice(1, 2), text.slice(6, 12)]) {
          const request = { prompt, params: params({ maxTokens: 20, stop: ["never said", stop] }) }
          const { sequences: [stopped] } = yield* sampler.sample(request)
          const texts = Array.makeBy(20, (length) => tokenizer.decode(free?.tokens.slice(0, length + 1) ?? []))
          assert.strictEqual(stopped?.stopReason, "stop")
          assert.strictEqual(stopped?.tokens.length, texts.findIndex((text) => text.includes(stop)) + 1)
        }
      }))
  })

  it.effect("does not depend on the number of workers", () =>
    Effect.gen(function*() {
      const byWorkers = yield* Effect.forEach([0, 1, 2], (workers) =>
        sampleAll(mixed, "unbounded").pipe(Effect.provide(TestEngine.layer(workers))))
      assert.deepStrictEqual(byWorkers[0], byWorkers[1])
      assert.deepStrictEqual(byWorkers[1], byWorkers[2])
    }))
})
