import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Order from "effect/Order"
import { promise } from "../../backend/Capabilities.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import * as Datum from "../../model/Datum.ts"
import * as Loss from "../../model/Loss.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import type * as Sampling from "../../model/Sampling.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

/** A token sampled after the prompt, and its reported log-probability. */
interface Draw {
  readonly token: number
  readonly logprob: number
}

const perRequest = 64

/** First tokens of `requests` times 64 samples, with seeds if the backend repeats the samples of a request with a seed. */
const drawing = Effect.fnUntraced(function*(options: Fixture.Options) {
  const client = yield* Fixture.sampling(options)
  const { seeds } = yield* Fixture.capabilities(options)
  return Effect.fnUntraced(function*(requests: number, params: Omit<Sampling.SamplingParams, "maxTokens">) {
    const responses = yield* Effect.forEach(Arr.range(1, requests), (request) =>
      client.sample({
        prompt: Fixture.input,
        numSamples: perRequest,
        params: { ...params, maxTokens: 1, ...(promise(seeds, "request") && { seed: 1000 * request }) }
      }))
    return responses.flatMap(({ sequences }) =>
      sequences.map(({ logprobs, tokens }): Draw => ({ token: tokens[0] ?? NaN, logprob: logprobs[0] ?? NaN }))
    )
  })
})

const byLogprob = Order.mapInput(Order.flip(Order.Number), ({ logprob }: Draw) => logprob)

/** The distinct tokens, most likely first. */
const distinct = (draws: ReadonlyArray<Draw>): ReadonlyArray<Draw> =>
  Arr.sort(new Map(draws.map((draw) => [draw.token, draw])).values(), byLogprob)

const topK = 48

/** Nearly all of the `topK` tokens are sampled at this temperature. */
const hot = 4

/** Standard errors by which a mean of samples may be off. */
const sigmas = 6

/** Expects the mean log-probability that tokens drawn at a temperature have. */
const expectTemperature = (tokens: ReadonlyArray<Draw>, draws: ReadonlyArray<Draw>, temperature: number) => {
  const best = tokens[0]?.logprob ?? NaN
  const masses = tokens.map(({ logprob }) => Math.exp((logprob - best) / temperature))
  const total = Statistics.sum(masses)
  const moment = (power: number) =>
    Statistics.sum(tokens.map(({ logprob }, at) => (masses[at] ?? NaN) / total * (logprob - best) ** power))
  const expected = best + moment(1)
  const error = Case.tolerance + sigmas * Math.sqrt(Math.max(0, moment(2) - moment(1) ** 2) / draws.length)
  const found = Statistics.mean(draws.map(({ logprob }) => logprob))
  return Case.expect(
    Math.abs(found - expected) <= error,
    `${expected} within ${error} as the mean logprob of ${draws.length} tokens at temperature ${temperature} and topK ${topK}`,
    found
  )
}

const temperatures = (options: Fixture.Options) =>
  Case.make(
    "distribution: tokens are drawn as often as their log-probabilities and the temperature say",
    Effect.gen(function*() {
      const draw = yield* drawing(options)
      const pool = yield* draw(4, { temperature: hot, topK })
      for (const temperature of [0.3, 1, 2]) {
        const draws = yield* draw(4, { temperature, topK })
        yield* expectTemperature(distinct([...pool, ...draws]), draws, temperature)
      }
    })
  )

/** The number of most likely tokens that a topP is made for, and that topP. The next token is less likely by more than rounding. */
const nucleus = (tokens: ReadonlyArray<Draw>) => {
  const sizes = [4, 3, 2, 1].filter((size) =>
    (tokens[size - 1]?.logprob ?? NaN) - (tokens[size]?.logprob ?? NaN) > 2 * Case.tolerance
  )
  return Arr.head(sizes.map((size) => {
    const probabilities = tokens.slice(0, size).map(({ logprob }) => Math.exp(logprob))
    // Without half of the last token's probability, rounding cannot move the limit to another token.
    return { size, topP: Statistics.sum(probabilities) - (probabilities.at(-1) ?? NaN) / 2 }
  }))
}

const smallestSet = (options: Fixture.Options) =>
  Case.make(
    "distribution: topP draws from the fewest most likely tokens that reach it",
    Effect.gen(function*() {
      const draw = yield* drawing(options)
      const tokens = distinct(yield* draw(4, { temperature: hot, topK }))
      const found = nucleus(tokens)
      if (found._tag === "None") return Case.inapplicable
      const { size, topP } = found.value
      const least = tokens[size - 1]?.logprob ?? NaN
      for (const { logprob, token } of yield* draw(2, { topP })) {
        yield* Case.expect(
          logprob > least - Case.tolerance,
          `one of the ${size} most likely tokens at topP ${topP}`,
          `token ${token} of logprob ${logprob}`
        )
      }
    })
  )

const unseeded = (options: Fixture.Options) =>
  Case.make(
    "distribution: requests without a seed give different samples",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const request = { prompt: Fixture.input, numSamples: 8, params: { maxTokens: 6, temperature: 1.5 } }
      const ask = Effect.map(
        client.sample(request),
        ({ sequences }) => sequences.map(({ tokens }) => tokens.join(" ")).join(", ")
      )
      const first = yield* ask
      yield* Case.expect(first !== (yield* ask), "samples that differ from those of an equal request", first)
    })
  )

/** The largest vocabulary of which all tokens are scored. */
const mostTokens = 4096

const vocabularyOf = Effect.fnUntraced(function*(has: (token: number) => Effect.Effect<boolean, Case.Failure>) {
  let [known, missing] = [Math.max(...Fixture.targetTokens), mostTokens]
  if (yield* has(missing)) return undefined
  while (missing - known > 1) {
    const middle = Math.floor((known + missing) / 2)
    if (yield* has(middle)) known = middle
    else missing = middle
  }
  return missing
})

/** The number of candidates per position that every backend accepts. */
const fewCandidates = 32

const afterOne = ModelInput.fromTokens([3])

/** All of the tokens as candidates for the token after `afterOne`. */
const scored = (tokens: ReadonlyArray<number>): Datum.Datum<"WeightedCandidates"> => ({
  kind: "WeightedCandidates",
  modelInput: afterOne,
  inputs: {
    candidates: tokens.length,
    targetTokens: Int32Array.from(tokens),
    weights: new Float32Array(tokens.length).fill(1)
  }
})

const normalized = (options: Fixture.Options) =>
  Case.make(
    "distribution: the probabilities of all next tokens add up to 1",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const vocabulary = yield* vocabularyOf((token) => {
        const datum = Datum.weightedTokens(afterOne, {
          targetTokens: Int32Array.of(token),
          weights: Float32Array.of(1)
        })
        return Fixture.run(client.forward([datum], Loss.crossEntropy)).pipe(
          Effect.as(true),
          Effect.catchIf(({ reason }) => reason._tag === "Rejected", () => Effect.succeed(false))
        )
      })
      if (vocabulary === undefined) return Case.inapplicable
      const every = Arr.map(Arr.chunksOf(Arr.range(0, vocabulary - 1), fewCandidates), scored)
      const { logprobs } = yield* Fixture.run(client.forward(every, Loss.crossEntropyCandidates))
      const total = Statistics.sum(logprobs.flatMap((logprobsK) => Array.from(logprobsK, Math.exp)))
      yield* Case.expectClose(`the sum over ${vocabulary} tokens`, [total], [1])
    })
  )

/** A log-probability so high that temperature 0 draws the token. */
const certain = -0.1

const mostSteps = 12

const sampledEnds = Effect.fnUntraced(function*(client: SamplingClient, stop: Sampling.Stop | undefined) {
  const { sequences } = yield* client.sample({
    prompt: Fixture.input,
    params: { maxTokens: 4, temperature: 0, ...(stop !== undefined && { stop }) }
  })
  return sequences.map(({ stopReason, tokens }) => `${tokens.length} tokens, ${stopReason}`).join()
})

const ends = (options: Fixture.Options) =>
  Case.make(
    "distribution: the end-of-sequence token ends a sample, unless token ids replace it",
    Effect.gen(function*() {
      const end = options.tokenizer?.eosTokenId
      if (end === undefined) return Case.inapplicable
      const client = yield* Fixture.training(options)
      const datum = Datum.weightedTokens(Fixture.input, {
        targetTokens: new Int32Array(Fixture.size).fill(end),
        weights: Fixture.full(1)
      })
      let learningRate = Fixture.learningRate
      for (let step = 0; step < mostSteps; step++) {
        const { logprobs: [logprobs] } = yield* Fixture.run(client.forwardBackward([datum], Loss.crossEntropy))
        if ((logprobs?.at(-1) ?? NaN) > certain) break
        yield* Fixture.run(client.optimStep({ learningRate }))
        learningRate *= 1.5
      }
      const sampler = yield* client.saveWeightsAndGetSamplingClient
      yield* Case.expectEqual("a sample without stops", yield* sampledEnds(sampler, undefined), "1 tokens, stop")
      yield* Case.expectEqual("a sample with a stop string", yield* sampledEnds(sampler, ["\u0001"]), "1 tokens, stop")
      yield* Case.expectEqual(
        "a sample with an empty list of stops",
        yield* sampledEnds(sampler, []),
        "4 tokens, length"
      )
    })
  )

/** Cases about the probabilities of sampled tokens, and the end of sequences. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  temperatures(options),
  smallestSet(options),
  unseeded(options),
  normalized(options),
  ends(options)
]
