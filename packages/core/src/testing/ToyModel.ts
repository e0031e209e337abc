/**
 * A minimal language model. The logits of the next token depend only on the previous token: they are a fixed pseudo-random row plus a
 * trained row.
 */
import { type AdamParams, defaults } from "../model/AdamParams.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import * as Seed from "../records/Seed.ts"

/** One row `[V]` per preceding token; missing rows are zero. Rows are never modified in place. */
export type Rows = ReadonlyMap<number, Float64Array>

export interface ToyModel {
  readonly seed: number
  readonly vocabulary: number
}

export interface Optimizer {
  readonly steps: number
  readonly first: Rows
  readonly second: Rows
}

/** `weights` are what training has added to the model's own logits; `gradient` is the sum since the last step. */
export interface State {
  readonly weights: Rows
  readonly gradient: Rows
  readonly optimizer: Optimizer
}

export const noOptimizer: Optimizer = { steps: 0, first: new Map(), second: new Map() }

/** The token id at each position `[T]`, or −1 for image positions. */
export const positions = (input: ModelInput.ModelInput): Int32Array =>
  Int32Array.from(
    input.chunks.flatMap((chunk) =>
      chunk._tag === "Image" ? Array.from({ length: chunk.expectedTokens }, () => -1) : Array.from(chunk.tokens)
    )
  )

/** The distribution of the next token. */
interface Distribution {
  readonly logprobsV: Float64Array
  readonly probabilitiesV: Float64Array
}

const distribution = ({ seed, vocabulary }: ToyModel, weights: Rows, before: number): Distribution => {
  const next = Seed.uniform(Seed.derive(seed, before))
  const added = weights.get(before)
  const logits = Float64Array.from({ length: vocabulary }, (_, token) => 4 * next() - 2 + (added?.[token] ?? 0))
  const normalizer = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0))
  const logprobsV = logits.map((logit) => logit - normalizer)
  return { logprobsV, probabilitiesV: logprobsV.map(Math.exp) }
}

/** Caches distributions by weights, because each is needed at thousands of positions. */
const known = new WeakMap<Rows, Map<string, Distribution>>()

const distributionAfter = (model: ToyModel, weights: Rows, before: number): Distribution => {
  const distributions = known.get(weights) ?? new Map<string, Distribution>()
  known.set(weights, distributions)
  const key = `${model.seed} ${model.vocabulary} ${before}`
  const found = distributions.get(key) ?? distribution(model, weights, before)
  distributions.set(key, found)
  return found
}

/** Log-probabilities `[V]` of the token after `before`; do not modify them. */
export const logprobsAfter = (model: ToyModel, weights: Rows, before: number): Float64Array =>
  distributionAfter(model, weights, before).logprobsV

/** The log-probability of each target `[T·K]`, with `K` targets per position. */
export const targetLogprobs = (
  model: ToyModel,
  weights: Rows,
  positionsT: Int32Array,
  targetsTK: Int32Array
): Float32Array => {
  const logprobsTK = new Float32Array(targetsTK.length)
  const candidates = targetsTK.length / positionsT.length
  for (const [t, before] of positionsT.entries()) {
    const logprobsV = logprobsAfter(model, weights, before)
    for (let k = 0; k < candidates; k++) {
      const at = t * candidates + k
      logprobsTK[at] = logprobsV[targetsTK[at] ?? 0] ?? NaN
    }
  }
  return logprobsTK
}

/** The log-probability of each prompt token `[T]`; NaN for the first. */
export const promptLogprobs = (model: ToyModel, weights: Rows, promptT: Int32Array): Float32Array => {
  const after = targetLogprobs(model, weights, promptT.subarray(0, -1), promptT.subarray(1))
  return Float32Array.of(NaN, ...after)
}

/** Adds the gradient of a loss, given ∂loss/∂logprob `[T·K]`. */
export const accumulate = (
  model: ToyModel,
  state: State,
  positionsT: Int32Array,
  targetsTK: Int32Array,
  slopesTK: Float64Array
): State => {
  const gradient = new Map(state.gradient)
  const candidates = targetsTK.length / positionsT.length
  for (const [t, before] of positionsT.entries()) {
    const slopes = slopesTK.subarray(t * candidates, (t + 1) * candidates)
    if (slopes.every((slope) => slope === 0)) continue
    const total = slopes.reduce((sum, slope) => sum + slope, 0)
    const old = gradient.get(before)
    const row = distributionAfter(model, state.weights, before).probabilitiesV.map((probability, v) =>
      (old?.[v] ?? 0) - total * probability
    )
    for (const [k, slope] of slopes.entries()) {
      const target = targetsTK[t * candidates + k] ?? 0
      row[target] = (row[target] ?? 0) + slope
    }
    gradient.set(before, row)
  }
  return { ...state, gradient }
}

const norm = (rows: Iterable<Float64Array>) => {
  let squares = 0
  for (const row of rows) for (const value of row) squares += value * value
  return Math.sqrt(squares)
}

interface Moments {
  readonly first: Float64Array
  readonly second: Float64Array
}

const zip = (left: Float64Array, right: Float64Array, f: (left: number, right: number) => number) =>
  left.map((value, v) => f(value, right[v] ?? 0))

const adamRow = (
  row: Float64Array,
  gradient: Float64Array,
  old: Moments,
  steps: number,
  params: Required<AdamParams>
) => {
  const { beta1, beta2, eps, learningRate, weightDecay } = params
  const first = zip(old.first, gradient, (moment, slope) => beta1 * moment + (1 - beta1) * slope)
  const second = zip(old.second, gradient, (moment, slope) => beta2 * moment + (1 - beta2) * slope * slope)
  const direction = zip(
    first,
    second,
    (mean, square) => mean / (1 - beta1 ** steps) / (Math.sqrt(square / (1 - beta2 ** steps)) + eps)
  )
  const update = zip(direction, row, (value, weight) => -learningRate * (value + weightDecay * weight))
  return { first, second, update }
}

/** Takes one Adam step on the accumulated gradient, and resets the gradient. */
export const step = (model: ToyModel, state: State, params: AdamParams) => {
  const complete = { ...defaults, ...params }
  const steps = state.optimizer.steps + 1
  const gradNorm = norm(state.gradient.values())
  const scale = complete.gradClipNorm > 0 && gradNorm > complete.gradClipNorm ? complete.gradClipNorm / gradNorm : 1
  const weights = new Map(state.weights)
  const first = new Map(state.optimizer.first)
  const second = new Map(state.optimizer.second)
  const zero = new Float64Array(model.vocabulary)
  const updates: Array<Float64Array> = []
  for (const before of new Set([...weights.keys(), ...first.keys(), ...state.gradient.keys()])) {
    const row = weights.get(before) ?? zero
    const gradient = (state.gradient.get(before) ?? zero).map((slope) => slope * scale)
    const moments = { first: first.get(before) ?? zero, second: second.get(before) ?? zero }
    const next = adamRow(row, gradient, moments, steps, complete)
    first.set(before, next.first)
    second.set(before, next.second)
    weights.set(before, zip(row, next.update, (weight, update) => weight + update))
    updates.push(next.update)
  }
  const next: State = { weights, gradient: new Map(), optimizer: { steps, first, second } }
  return { state: next, metrics: { grad_norm: gradNorm, update_norm: norm(updates) } }
}
