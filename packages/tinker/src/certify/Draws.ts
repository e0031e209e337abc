/** Tokens that a server sampled after one prompt, and statistical tests of their distribution. */
import { ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Order from "effect/Order"
import * as Check from "./Check.ts"

/** A token and its log-probability before temperature and filters. */
export interface Draw {
  readonly token: number
  readonly logprob: number
}

/** Samples per request; few enough for every server. */
const perRequest = 64

/** Samples at least `count` sequences with the same parameters, 64 per request. If `seed` is given, each request gets its own seed. */
export const sequences = (
  client: SamplingClient.SamplingClient,
  prompt: ModelInput.ModelInput,
  count: number,
  params: Sampling.SamplingParams
) =>
  Effect.map(
    Effect.forEach(
      Arr.range(1, Math.ceil(count / perRequest)),
      (request) =>
        client.sample({
          prompt,
          numSamples: perRequest,
          params: params.seed === undefined ? params : { ...params, seed: params.seed + request * 1000 }
        }),
      { concurrency: 4 }
    ),
    (responses) => responses.flatMap(({ sequences }) => sequences)
  )

const firstOf = ({ logprobs: [logprob], tokens: [token] }: Sampling.SampledTokens): ReadonlyArray<Draw> =>
  token === undefined || logprob === undefined ? [] : [{ token, logprob }]

/** The first token of each of at least `count` sampled sequences. */
export const first = (
  client: SamplingClient.SamplingClient,
  prompt: ModelInput.ModelInput,
  count: number,
  params: Omit<Sampling.SamplingParams, "maxTokens"> = {}
) =>
  Effect.map(
    sequences(client, prompt, count, { ...params, maxTokens: 1 }),
    (drawn): ReadonlyArray<Draw> => drawn.flatMap(firstOf)
  )

const byLogprob = Order.mapInput(Order.flip(Order.Number), ({ logprob }: Draw) => logprob)

/** The distinct tokens, the most likely first. */
export const distinct = (draws: ReadonlyArray<Draw>): ReadonlyArray<Draw> =>
  [...new Map(draws.map((draw) => [draw.token, draw])).values()].toSorted(byLogprob)

const prompts: Arr.NonEmptyReadonlyArray<ReadonlyArray<number>> = [[3, 1, 4, 1, 5, 9, 2], [3, 3, 3, 3, 3, 3, 3], [
  3,
  1,
  3,
  1,
  3,
  1,
  3
], [2, 4, 6, 8, 10, 12, 14]]

const variance = (draws: ReadonlyArray<Draw>) => {
  const mean = draws.reduce((sum, { logprob }) => sum + logprob, 0) / draws.length
  return draws.reduce((sum, { logprob }) => sum + (logprob - mean) ** 2, 0) / draws.length
}

/** Finds a prompt after which some next tokens are likely and others are not, because temperature has the largest effect there. */
export const openPrompt = (client: SamplingClient.SamplingClient) =>
  Effect.map(
    Effect.forEach(prompts, (tokens) => {
      const prompt = ModelInput.fromTokens(tokens)
      return Effect.map(first(client, prompt, perRequest), (draws) => ({ prompt, variance: variance(draws) }))
    }),
    (tried) => Arr.max(tried, Order.mapInput(Order.Number, ({ variance }) => variance)).prompt
  )

/** An outcome's probability, and how often the outcome was drawn. */
export interface Counted {
  readonly probability: number
  readonly count: number
}

/** Maximum false-alarm probability of one check. */
const alarm = 1e-9

const strengths = [0.03, 0.06, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]

const tilts = strengths.flatMap((strength) => [strength, -strength])

/** How many of the likeliest outcomes get their own bet, besides the bets on all likely outcomes. */
const mostOutcomes = 12

/**
 * Fails if outcomes do not follow the expected distributions. The false-alarm probability is at most 10⁻⁹: each bet on
 * one outcome or on the likely outcomes multiplies its stake by 1 on average, so the probability that any of n bets
 * multiplies it by n · 10⁹ is at most 10⁻⁹. The outcomes must have the same order in every distribution.
 */
export const expectDistributions = (what: string, distributions: ReadonlyArray<ReadonlyArray<Counted>>) => {
  const outcomes = Math.min(mostOutcomes, Math.max(...distributions.map(({ length }) => length)))
  const features: ReadonlyArray<(at: number, outcome: Counted) => number> = [
    (_, { probability }) => Math.log(probability),
    ...Arr.range(0, outcomes - 1).map((outcome) => (at: number) => at === outcome ? 1 : 0)
  ]
  const wealth = (feature: typeof features[number], tilt: number) =>
    distributions.reduce((sum, counted) => {
      const count = counted.reduce((total, one) => total + one.count, 0)
      const gain = counted.reduce((total, one, at) => total + one.count * feature(at, one), 0)
      const normalizer = counted.reduce(
        (total, one, at) => total + one.probability * Math.exp(tilt * feature(at, one)),
        0
      )
      return sum + tilt * gain - count * Math.log(normalizer)
    }, 0)
  const limit = Math.log(features.length * tilts.length / alarm)
  const most = Math.max(...features.flatMap((feature) => tilts.map((tilt) => wealth(feature, tilt))))
  const shown = (of: (one: Counted, total: number) => number) =>
    distributions.map((counted) => {
      const total = counted.reduce((sum, one) => sum + one.count, 0)
      return `[${counted.slice(0, mostOutcomes).map((one) => Math.round(of(one, total))).join(", ")}]`
    }).join(" ")
  return Check.expect(
    most < limit,
    `${what} as often as ${shown(({ probability }, total) => probability * total)}`,
    shown(({ count }) => count)
  )
}

/** How often each of `tokens` was drawn, with its probability in the distribution that is proportional to `weight`. */
export const counted = (
  tokens: ReadonlyArray<Draw>,
  draws: ReadonlyArray<Draw>,
  weight: (logprob: number) => number
): ReadonlyArray<Counted> => {
  const total = tokens.reduce((sum, { logprob }) => sum + weight(logprob), 0)
  const counts = new Map<number, number>()
  for (const { token } of draws) counts.set(token, (counts.get(token) ?? 0) + 1)
  return tokens.map(({ logprob, token }) => ({
    probability: weight(logprob) / total,
    count: counts.get(token) ?? 0
  }))
}
