/** Computes logits and log-probabilities from hidden rows, and their gradients. */
import type { Address } from "../numerics/Memory.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Batch from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import type { Gradients } from "./Gradients.ts"
import * as Linear from "./Linear.ts"
import * as ModelConfig from "./ModelConfig.ts"
import * as Targets from "./Targets.ts"

/** The largest number of logits in memory at a time: 16 MiB. */
const mostLogits = 1 << 22

/** The number of rows whose logits are in memory at a time. It does not depend on the number of threads or the scratch size. */
export const chunkRows = (config: ModelConfig.ModelConfig): number =>
  Math.max(1, Math.floor(mostLogits / ModelConfig.paddedVocabulary(config)))

/** Logits `[rows, paddedVocabulary]` in the arena; padding ids have logit −3e38. */
export interface Logits {
  readonly rows: number
  readonly values: Address
  /** For each row, the largest logit m and Σ exp(logit − m). */
  readonly maximumAndSum: Address
  readonly x: Address
  readonly normed: Address
  readonly inverseRoot: Address
}

/** Applies the final norm and the LM head with its adapters, and computes the normalizer of each row. */
export const forward = (compute: Compute, groups: ReadonlyArray<Batch.Group>, x: Address, rows: number): Logits => {
  const { arena, config, kernels, weights } = compute
  const { hiddenSize, normEpsilon, vocabularySize } = config
  const vocabulary = ModelConfig.paddedVocabulary(config)
  const logits = {
    rows,
    x,
    normed: arena.allocate(rows * hiddenSize),
    inverseRoot: arena.allocate(rows),
    values: arena.allocate(rows * vocabulary),
    maximumAndSum: arena.allocate(rows * 2)
  }
  kernels.normForward(logits.normed, x, weights.finalNorm, logits.inverseRoot, rows, hiddenSize, normEpsilon)
  Linear.forward(compute, groups, "head", logits.values, logits.normed, rows, 0)
  kernels.maskColumns(logits.values, rows, vocabularySize, vocabulary)
  kernels.logSumExp(logits.maximumAndSum, logits.values, rows, vocabulary)
  return logits
}

/** The groups of the chosen rows, numbered by their order among the chosen rows. `chosen` is ascending. */
const chosenGroups = (groups: ReadonlyArray<Batch.Group>, chosen: ArrayLike<number>): ReadonlyArray<Batch.Group> => {
  let next = 0
  return groups.map((group) => {
    const start = next
    while (next < chosen.length && (chosen[next] ?? 0) < group.start + group.rows) next++
    return { start, rows: next - start, adapter: group.adapter }
  }).filter((group) => group.rows > 0)
}

/** Like `forward`, for the chosen rows of `x`, which are given in ascending order. */
export const forwardAt = (
  compute: Compute,
  groups: ReadonlyArray<Batch.Group>,
  x: Address,
  chosen: ArrayLike<number>
): Logits => {
  const { arena, config, kernels, memory } = compute
  const ids = arena.allocate(chosen.length)
  const rows = arena.allocate(chosen.length * config.hiddenSize)
  Memory.integers(memory, ids, chosen.length).set(chosen)
  kernels.gatherRows(rows, x, ids, chosen.length, config.hiddenSize)
  return forward(compute, chosenGroups(groups, chosen), rows, chosen.length)
}

/** ln Σ exp(logits) of a row, in f64. */
export const logNormalizer = ({ memory }: Compute, logits: Logits, row: number): number => {
  const [maximum = 0, sum = 1] = Memory.floats(memory, logits.maximumAndSum + row * 8, 2)
  return maximum + Math.log(sum)
}

/** A token's log-probability, rounded once to f32, so the sampler and the trainer agree to the bit. */
export const logprob = (compute: Compute, logits: Logits, row: number, token: number): number => {
  const place = logits.values + (row * ModelConfig.paddedVocabulary(compute.config) + token) * 4
  const [logit = 0] = Memory.floats(compute.memory, place, 1)
  return Math.fround(logit - logNormalizer(compute, logits, row))
}

/** The targets of each row, as in `Targets`. */
type RowTargets = Pick<Targets.Targets, "starts" | "tokens">

/** Log-probabilities of the targets. */
const logprobs = (compute: Compute, logits: Logits, { starts, tokens }: RowTargets): Float32Array => {
  const vocabulary = ModelConfig.paddedVocabulary(compute.config)
  const values = Memory.floats(compute.memory, logits.values, logits.rows * vocabulary)
  const out = new Float32Array(tokens.length)
  for (let row = 0; row < logits.rows; row++) {
    const normalizer = logNormalizer(compute, logits, row)
    for (let place = starts[row] ?? 0; place < (starts[row + 1] ?? 0); place++) {
      out[place] = (values[row * vocabulary + (tokens[place] ?? 0)] ?? 0) - normalizer
    }
  }
  return out
}

/** Hidden rows to pass to the head. */
export interface HeadInput {
  readonly x: Address
  readonly rows: number
  readonly groups: ReadonlyArray<Batch.Group>
}

/** `rows` rows from `start` on, with their groups numbered relative to `start`. */
export const slice = ({ config }: Compute, { groups, x }: HeadInput, start: number, rows: number): HeadInput => ({
  x: x + start * config.hiddenSize * 4,
  rows,
  groups: Batch.groupsBetween(groups, start, start + rows)
})

/** The first row and the row count of each chunk of the rows from `start` to `end`. */
const chunks = (
  { config }: Compute,
  start: number,
  end: number
): ReadonlyArray<readonly [start: number, rows: number]> => {
  const size = chunkRows(config)
  return Array.from(
    { length: Math.ceil((end - start) / size) },
    (_, index) => [start + index * size, Math.min(size, end - start - index * size)] as const
  )
}

export interface Scored {
  /** The log-probability of each target. */
  readonly logprobs: Float32Array
  /** The logits, if all rows fit in one chunk. They stay in the arena, so `backward` need not recompute them. */
  readonly logits: Logits | undefined
}

/** Log-probabilities of the targets, computed chunk by chunk. */
export const score = (compute: Compute, input: HeadInput, targets: RowTargets): Scored => {
  const { arena } = compute
  if (input.rows <= chunkRows(compute.config)) {
    const logits = forward(compute, input.groups, input.x, input.rows)
    return { logprobs: logprobs(compute, logits, targets), logits }
  }
  const out = new Float32Array(targets.tokens.length)
  for (const [start, rows] of chunks(compute, 0, input.rows)) {
    const mark = arena.mark()
    const { groups, x } = slice(compute, input, start, rows)
    const own = Targets.slice(targets, start, start + rows)
    out.set(logprobs(compute, forward(compute, groups, x, rows), own), own.first)
    arena.reset(mark)
  }
  return { logprobs: out, logits: undefined }
}

/** ∂L/∂logprob of each target, the backward pass's input. */
export interface TargetGradient extends RowTargets {
  readonly coefficients: Float32Array
}

const gradientSlice = (target: TargetGradient, start: number, end: number): TargetGradient => {
  const own = Targets.slice(target, start, end)
  return { ...own, coefficients: target.coefficients.subarray(own.first, own.first + own.tokens.length) }
}

/** Writes the gradient of the hidden rows from which the logits were computed to `dx`. Overwrites the logits. */
const backwardInto = (
  compute: Compute,
  dx: Address,
  logits: Logits,
  { coefficients, starts, tokens }: TargetGradient,
  gradients: Gradients
): void => {
  const { arena, config, kernels, memory, weights } = compute
  const { hiddenSize } = config
  const { rows } = logits
  const mark = arena.mark()
  const [ids, firsts] = [arena.allocate(tokens.length), arena.allocate(starts.length)]
  const slopes = arena.allocate(tokens.length)
  Memory.integers(memory, ids, tokens.length).set(tokens)
  Memory.integers(memory, firsts, starts.length).set(starts)
  Memory.floats(memory, slopes, tokens.length).set(coefficients)
  const vocabulary = ModelConfig.paddedVocabulary(config)
  kernels.logitGradient(logits.values, logits.maximumAndSum, slopes, ids, firsts, rows, vocabulary)
  const dNormed = arena.allocate(rows * hiddenSize)
  Linear.backward(compute, gradients, "head", dNormed, logits.values, logits.normed, rows, 0)
  const dNorm = gradients.base?.finalNorm ?? 0
  kernels.normBackward(dx, dNormed, logits.x, weights.finalNorm, logits.inverseRoot, rows, hiddenSize, dNorm, 0)
  arena.reset(mark)
}

/** The logits of the rows from `start` to `end`. */
const logitsBetween = ({ config }: Compute, logits: Logits, start: number, end: number): Logits => ({
  rows: end - start,
  values: logits.values + start * ModelConfig.paddedVocabulary(config) * 4,
  maximumAndSum: logits.maximumAndSum + start * 8,
  x: logits.x + start * config.hiddenSize * 4,
  normed: logits.normed + start * config.hiddenSize * 4,
  inverseRoot: logits.inverseRoot + start * 4
})

/**
 * Writes the gradient of the rows `start` to `end` of `input.x` to `dx`. Recomputes logits that `score` did not keep, but only for chunks
 * with a gradient.
 */
export const backward = (
  compute: Compute,
  dx: Address,
  input: HeadInput,
  left: Logits | undefined,
  [start, end]: readonly [start: number, end: number],
  target: TargetGradient,
  gradients: Gradients
): void => {
  const { arena, config, memory } = compute
  const { hiddenSize } = config
  if (left !== undefined) {
    const own = gradientSlice(target, start, end)
    return backwardInto(compute, dx, logitsBetween(compute, left, start, end), own, gradients)
  }
  for (const [first, rows] of chunks(compute, start, end)) {
    const mark = arena.mark()
    const own = gradientSlice(target, first, first + rows)
    const place = dx + (first - start) * hiddenSize * 4
    if (own.coefficients.every((slope) => slope === 0)) Memory.floats(memory, place, rows * hiddenSize).fill(0)
    else {
      const { groups, x } = slice(compute, input, first, rows)
      backwardInto(compute, place, forward(compute, groups, x, rows), own, gradients)
    }
    arena.reset(mark)
  }
}
