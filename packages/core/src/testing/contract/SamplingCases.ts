import * as Effect from "effect/Effect"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import type * as Sampling from "../../model/Sampling.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

const params: Sampling.SamplingParams = { maxTokens: 6, seed: 11 }

const sample = (client: SamplingClient, changes: Partial<Sampling.SamplingParams> = {}, numSamples = 1) =>
  Effect.map(
    client.sample({ prompt: Fixture.input, numSamples, params: { ...params, ...changes } }),
    ({ sequences }) => sequences
  )

const first = (client: SamplingClient, changes: Partial<Sampling.SamplingParams> = {}) =>
  Effect.flatMap(sample(client, changes), ([sequence]) =>
    sequence === undefined
      ? Effect.fail(new Case.Mismatch({ expected: "a sequence", found: "none" }))
      : Effect.succeed(sequence))

const greedy = (client: SamplingClient) => first(client, { temperature: 0 })

const counts = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "sampling: one sequence unless more are requested",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const { sequences } = yield* client.sample({ prompt: Fixture.input, params })
      yield* Case.expectEqual("sequences", sequences.length, 1)
    })
  ),
  Case.make(
    "sampling: the requested number of sequences",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      yield* Case.expectEqual("sequences", (yield* sample(client, {}, 3)).length, 3)
    })
  ),
  Case.make(
    "sampling: at most maxTokens, and all of them if the stop reason is length",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      for (const { stopReason, tokens } of yield* sample(client, {}, 4)) {
        const fits = stopReason === "length" ? tokens.length === params.maxTokens : tokens.length <= params.maxTokens
        yield* Case.expect(fits, `${params.maxTokens} tokens or fewer with a stop`, `${tokens.length}, ${stopReason}`)
      }
    })
  ),
  Case.make(
    "sampling: a finite log-probability of at most 0 per token",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      for (const { logprobs, tokens } of yield* sample(client, {}, 4)) {
        yield* Case.expectEqual("logprobs.length", logprobs.length, tokens.length)
        yield* Case.expect(
          logprobs.every((value) => Number.isFinite(value) && value <= 0),
          "logprobs of at most 0",
          logprobs
        )
      }
    })
  )
]

const stops = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "sampling: a stop token ends the sequence and is part of it",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const { tokens } = yield* greedy(client)
      const stop = tokens.at(-1) ?? 0
      const stopped = yield* first(client, { temperature: 0, stop: [stop] })
      yield* Case.expectTokens("tokens", stopped.tokens, tokens.subarray(0, tokens.indexOf(stop) + 1))
      yield* Case.expectEqual("logprobs.length", stopped.logprobs.length, stopped.tokens.length)
      yield* Case.expectEqual("stopReason", stopped.stopReason, "stop")
    })
  ),
  Case.make(
    "sampling: a stop string ends the sequence after the token that completes it",
    Effect.gen(function*() {
      const { tokenizer } = options
      if (tokenizer === undefined) return Case.inapplicable
      const client = yield* Fixture.sampling(options)
      const { tokens } = yield* greedy(client)
      const stop = tokenizer.decode(tokens.subarray(1, 3))
      if (stop === "" || stop.includes("\ufffd")) return
      const end = tokens.findIndex((_, index) => tokenizer.decode(tokens.subarray(0, index + 1)).includes(stop))
      const stopped = yield* first(client, { temperature: 0, stop: [stop] })
      yield* Case.expectTokens("tokens", stopped.tokens, tokens.subarray(0, end + 1))
      yield* Case.expectEqual("stopReason", stopped.stopReason, "stop")
    })
  )
]

const choices = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "sampling: temperature 0 is the same whatever the seed",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const { tokens } = yield* greedy(client)
      const other = yield* first(client, { temperature: 0, seed: 12 })
      yield* Case.expectTokens("tokens", other.tokens, tokens)
    })
  ),
  Case.make(
    "sampling: topK 1 is temperature 0",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      yield* Case.expectTokens("tokens", (yield* first(client, { topK: 1 })).tokens, (yield* greedy(client)).tokens)
    })
  ),
  Case.make(
    "sampling: the smallest topP is temperature 0",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      yield* Case.expectTokens("tokens", (yield* first(client, { topP: 1e-6 })).tokens, (yield* greedy(client)).tokens)
    })
  ),
  Case.make(
    "sampling: log-probabilities are untempered and unfiltered",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const sequence = yield* first(client, { temperature: 0.5, topK: 5 })
        const scored = yield* client.computeLogprobs(ModelInput.append(Fixture.input, sequence.tokens))
        yield* Case.expectClose("logprobs", sequence.logprobs, scored.subarray(Fixture.size))
      })
    )
  )
]

const seeds = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "sampling: a seed makes sampling reproducible",
    Fixture.where(
      options,
      ({ seeds }) => seeds !== "none",
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        yield* Case.expectTokens("tokens", (yield* first(client)).tokens, (yield* first(client)).tokens)
      })
    )
  ),
  Case.make(
    "sampling: sample i of a request with a seed is the sample of seed + i",
    Fixture.where(
      options,
      ({ seeds }) => seeds === "sample",
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        for (const [index, sequence] of (yield* sample(client, {}, 3)).entries()) {
          const alone = yield* first(client, { seed: 11 + index })
          yield* Case.expectTokens(`tokens of sample ${index}`, sequence.tokens, alone.tokens)
        }
      })
    )
  ),
  Case.make(
    "sampling: samples of one request differ",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const texts = (yield* sample(client, { temperature: 1.5 }, 8)).map(({ tokens }) => tokens.join(" "))
      yield* Case.expect(new Set(texts).size > 1, "8 samples that are not all equal", texts[0])
    })
  ),
  Case.make(
    "sampling: concurrent requests do not disturb each other",
    Fixture.where(
      options,
      ({ seeds }) => seeds !== "none",
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const ask = Effect.forEach([1, 2, 3, 4], (seed) => first(client, { seed }), { concurrency: 4 })
        for (const [index, sequence] of (yield* ask).entries()) {
          const alone = yield* first(client, { seed: index + 1 })
          yield* Case.expectTokens(`tokens of seed ${index + 1}`, sequence.tokens, alone.tokens)
        }
      })
    )
  )
]

/** Cases about the sequences that a sampler returns. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  ...counts(options),
  ...stops(options),
  ...choices(options),
  ...seeds(options)
]
