/** Samples from a `ToyModel` according to the port's sampling parameters. */
import type * as Sampling from "../model/Sampling.ts"
import * as Seed from "../records/Seed.ts"
import * as ToyModel from "./ToyModel.ts"

/**
 * The tokens to sample from, most likely first: applies temperature, then keeps the `topK` most likely tokens, then the fewest whose
 * probability reaches `topP`.
 */
const candidates = (logprobsV: Float64Array, params: Sampling.SamplingParams) => {
  const temperature = params.temperature ?? 1
  const order = Array.from(logprobsV.keys()).toSorted((a, b) => (logprobsV[b] ?? 0) - (logprobsV[a] ?? 0) || a - b)
  if (temperature === 0) return order.slice(0, 1).map((token) => ({ token, mass: 1 }))
  const kept = order.slice(0, params.topK !== undefined && params.topK > 0 ? params.topK : order.length)
  const best = logprobsV[kept[0] ?? 0] ?? 0
  const masses = kept.map((token) => ({ token, mass: Math.exp(((logprobsV[token] ?? 0) - best) / temperature) }))
  const total = masses.reduce((sum, { mass }) => sum + mass, 0)
  let before = 0
  return masses.filter(({ mass }) => {
    const isKept = before === 0 || before < (params.topP ?? 1) * total
    before += mass
    return isKept
  })
}

const choose = (logprobsV: Float64Array, params: Sampling.SamplingParams, uniform: number) => {
  const options = candidates(logprobsV, params)
  let left = uniform * options.reduce((sum, { mass }) => sum + mass, 0)
  const found = options.find(({ mass }) => {
    left -= mass
    return left < 0
  })
  return (found ?? options.at(-1))?.token ?? 0
}

const isStopped = (stop: Sampling.Stop, tokens: ReadonlyArray<number>, decode: (tokens: ArrayLike<number>) => string) =>
  stop.some((end) => typeof end === "number" ? tokens.at(-1) === end : decode(tokens).includes(end))

/** Samples one continuation after the token `before`. Its log-probabilities ignore temperature, `topK` and `topP`. */
export const sample = (
  model: ToyModel.ToyModel,
  weights: ToyModel.Rows,
  before: number,
  params: Sampling.SamplingParams,
  seed: number,
  decode: (tokens: ArrayLike<number>) => string
): Sampling.SampledTokens => {
  const next = Seed.uniform(seed)
  const tokens: Array<number> = []
  const logprobs: Array<number> = []
  let stopReason: Sampling.SampleStopReason = "length"
  while (stopReason === "length" && tokens.length < params.maxTokens) {
    const logprobsV = ToyModel.logprobsAfter(model, weights, tokens.at(-1) ?? before)
    const token = choose(logprobsV, params, next())
    tokens.push(token)
    logprobs.push(logprobsV[token] ?? NaN)
    if (isStopped(params.stop ?? [], tokens, decode)) stopReason = "stop"
  }
  return { tokens: Int32Array.from(tokens), logprobs: Float32Array.from(logprobs), stopReason }
}

/** The most likely tokens at each position of a prompt; none for the first. */
export const topkPromptLogprobs = (
  model: ToyModel.ToyModel,
  weights: ToyModel.Rows,
  promptT: Int32Array,
  count: number
): ReadonlyArray<ReadonlyArray<Sampling.TokenLogprob>> => [
  [],
  ...Array.from(promptT.subarray(0, -1), (before) => {
    const logprobsV = ToyModel.logprobsAfter(model, weights, before)
    return Array.from(logprobsV, (logprob, token) => ({ token, logprob }))
      .toSorted((left, right) => right.logprob - left.logprob)
      .slice(0, count)
  })
]
