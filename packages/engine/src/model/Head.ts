/** From hidden rows to logits, their log-probabilities, and back. */
import type { Address } from "../numerics/Memory.ts"
import * as Memory from "../numerics/Memory.ts"
import type { Group } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import type { Gradients } from "./Gradients.ts"
import * as Linear from "./Linear.ts"
import * as ModelConfig from "./ModelConfig.ts"

/** Logits `[rows, paddedVocabulary]` in the arena; ids that are padding hold −3e38. */
export interface Logits {
  readonly rows: number
  readonly values: Address
  /** Per row the largest logit m and Σ exp(logit − m). */
  readonly maximumAndSum: Address
  readonly x: Address
  readonly normed: Address
  readonly inverseRoot: Address
}

/** The final norm, the LM head with its adapters, and the normaliser of each row. */
export const forward = (compute: Compute, groups: ReadonlyArray<Group>, x: Address, rows: number): Logits => {
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

/** The groups of the chosen rows, which ascend, counted among the chosen. */
const chosenGroups = (groups: ReadonlyArray<Group>, chosen: ArrayLike<number>): ReadonlyArray<Group> => {
  let next = 0
  return groups.map((group) => {
    const start = next
    while (next < chosen.length && (chosen[next] ?? 0) < group.start + group.rows) next++
    return { start, rows: next - start, adapter: group.adapter }
  }).filter((group) => group.rows > 0)
}

/** `forward` of the chosen rows of `x` alone, given in ascending order. */
export const forwardAt = (
  compute: Compute,
  groups: ReadonlyArray<Group>,
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

/** Log-probability of one token of a row, rounded once to f32: sampler and trainer agree to the bit. */
export const logprob = (compute: Compute, logits: Logits, row: number, token: number): number => {
  const place = logits.values + (row * ModelConfig.paddedVocabulary(compute.config) + token) * 4
  const [logit = 0] = Memory.floats(compute.memory, place, 1)
  return Math.fround(logit - logNormalizer(compute, logits, row))
}

/** Log-probabilities of `targets [rows, candidates]`. */
export const logprobs = (
  compute: Compute,
  logits: Logits,
  targets: Int32Array,
  candidates: number
): Float32Array => {
  const vocabulary = ModelConfig.paddedVocabulary(compute.config)
  const values = Memory.floats(compute.memory, logits.values, logits.rows * vocabulary)
  const out = new Float32Array(targets.length)
  for (let row = 0; row < logits.rows; row++) {
    const normalizer = logNormalizer(compute, logits, row)
    for (let k = row * candidates; k < (row + 1) * candidates; k++) {
      out[k] = (values[row * vocabulary + (targets[k] ?? 0)] ?? 0) - normalizer
    }
  }
  return out
}

/** What a backward pass needs to know of the loss: ∂L/∂logprob of each `[rows, candidates]` target. */
export interface TargetGradient {
  readonly targets: Int32Array
  readonly candidates: number
  readonly coefficients: Float32Array
}

/** The gradient in `x`; overwrites the logits. */
export const backward = (
  compute: Compute,
  logits: Logits,
  { candidates, coefficients, targets }: TargetGradient,
  gradients: Gradients
): Address => {
  const { arena, config, kernels, memory, weights } = compute
  const { hiddenSize } = config
  const { rows } = logits
  const dx = arena.allocate(rows * hiddenSize)
  const mark = arena.mark()
  const ids = arena.allocate(targets.length)
  const slopes = arena.allocate(targets.length)
  Memory.integers(memory, ids, targets.length).set(targets)
  Memory.floats(memory, slopes, targets.length).set(coefficients)
  const vocabulary = ModelConfig.paddedVocabulary(config)
  kernels.logitGradient(logits.values, logits.maximumAndSum, slopes, ids, candidates, rows, vocabulary)
  const dNormed = arena.allocate(rows * hiddenSize)
  Linear.backward(compute, gradients, "head", dNormed, logits.values, logits.normed, rows, 0)
  const dNorm = gradients.base?.finalNorm ?? 0
  kernels.normBackward(dx, dNormed, logits.x, weights.finalNorm, logits.inverseRoot, rows, hiddenSize, dNorm, 0)
  arena.reset(mark)
  return dx
}
