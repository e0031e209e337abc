/** One pass over whole sequences, which computes the log-probabilities of their targets and, on request, gradients. */
import type { Address } from "../numerics/Memory.ts"
import * as Memory from "../numerics/Memory.ts"
import type { PackedAdapter } from "./Adapter.ts"
import * as Backward from "./Backward.ts"
import * as Batch from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as Forward from "./Forward.ts"
import type { Gradients } from "./Gradients.ts"
import * as Head from "./Head.ts"
import * as Linear from "./Linear.ts"
import * as ModelConfig from "./ModelConfig.ts"
import * as PrefixTree from "./PrefixTree.ts"
import * as Targets from "./Targets.ts"
import * as Weights from "./Weights.ts"

/** A sequence and its targets `[tokens, candidates]`. */
export interface Example extends PrefixTree.Branch {
  readonly targets: Int32Array
  readonly candidates: number
}

export interface Trained {
  /** Log-probabilities `[tokens, candidates]` for each example; NaN at positions that are not read. */
  readonly logprobs: ReadonlyArray<Float32Array>
  /** The sum of the examples' losses, added in order. */
  readonly loss: number
}

/** The rows of all examples, and the targets at the rows that are read. */
interface Plan {
  readonly tree: PrefixTree.PrefixTree
  readonly targets: Targets.Targets
}

/** An example cut after its last read position: nothing later is computed. */
const cut = ({ learned, read, tokens }: Example): PrefixTree.Branch => ({
  tokens: read === undefined ? tokens : tokens.subarray(0, read.lastIndexOf(1) + 1),
  ...(learned === undefined ? {} : { learned }),
  ...(read === undefined ? {} : { read })
})

const planOf = (examples: ReadonlyArray<Example>): Plan => {
  const tree = PrefixTree.make(examples.map(cut))
  const { end, start } = tree.read
  const wanted = examples.map(({ candidates, read, targets }, index): Targets.Wanted => ({
    rows: (tree.rowsB[index] ?? new Int32Array()).map((row, t) =>
      read === undefined || read[t] === 1 ? row - start.rows : -1
    ),
    tokens: targets,
    candidates
  }))
  return { tree, targets: Targets.make(wanted, end.rows - start.rows) }
}

/** The head's input: the rows that are read. */
const headInput = (compute: Compute, { groups, read: { end, start }, rows }: Batch.Batch, x: Address) =>
  Head.slice(compute, { x, rows, groups }, start.rows, end.rows - start.rows)

/** Splits the values of all targets by example. */
const perExample = ({ placesS }: Targets.Targets, values: Float32Array): ReadonlyArray<Float32Array> =>
  placesS.map((places) => Float32Array.from(places, (place) => values[place] ?? NaN))

/** Computes the log-probabilities `[tokens, candidates]` of each example; NaN at positions that are not read. */
export const forward = (
  compute: Compute,
  examples: ReadonlyArray<Example>,
  adapter: PackedAdapter | undefined
): ReadonlyArray<Float32Array> => {
  const mark = compute.arena.mark()
  const { targets, tree } = planOf(examples)
  const batch = Batch.ofTree(compute, tree, adapter, "shared")
  const { logprobs } = Head.score(compute, headInput(compute, batch, Forward.run(compute, batch)), targets)
  compute.arena.reset(mark)
  return perExample(targets, logprobs)
}

const checkLearned = ({ candidates, learned, read }: Example, gradient: ExampleLoss["gradient"]) => {
  for (let place = 0; place < gradient.length; place++) {
    if (gradient[place] === 0) continue
    const position = Math.floor(place / candidates)
    if (learned?.[position] === 0 || read?.[position] === 0) {
      throw new RangeError(`a loss has a gradient at position ${position}, which is not learned`)
    }
  }
}

/** An example's loss and its derivatives in the log-probabilities of its targets. */
export interface ExampleLoss {
  readonly loss: number
  readonly gradient: Float32Array | Float64Array
}

/** Computes an example's loss from its log-probabilities and those of all examples. The arguments follow `Array.map`. */
export type LossOf = (
  logprobs: Float32Array,
  example: number,
  logprobsE: ReadonlyArray<Float32Array>
) => ExampleLoss

/** The total loss, and its derivatives in the log-probabilities of all targets. */
const evaluate = (
  examples: ReadonlyArray<Example>,
  targets: Targets.Targets,
  logprobs: ReadonlyArray<Float32Array>,
  lossOf: LossOf
) => {
  const coefficients = new Float32Array(targets.tokens.length)
  let loss = 0
  examples.forEach((example, index) => {
    const result = lossOf(logprobs[index] ?? new Float32Array(), index, logprobs)
    checkLearned(example, result.gradient)
    loss += result.loss
    targets.placesS[index]?.forEach((place, k) => {
      if (place >= 0) coefficients[place] = result.gradient[k] ?? 0
    })
  })
  return { loss, coefficients }
}

/** The gradient in all reached hidden rows. It is still 0 in rows that are reached only through later rows. */
const headBackward = (
  compute: Compute,
  { reached, read, through }: Batch.TreeBatch,
  input: Head.HeadInput,
  { logits }: Head.Scored,
  target: Head.TargetGradient,
  gradients: Gradients
): Address => {
  const { arena, config: { hiddenSize }, memory } = compute
  const dx = arena.allocate(reached.rows * hiddenSize)
  Memory.floats(memory, dx, through.rows * hiddenSize).fill(0)
  const learned = [through.rows - read.start.rows, reached.rows - read.start.rows] as const
  Head.backward(compute, dx + through.rows * hiddenSize * 4, input, logits, learned, target, gradients)
  return dx
}

/**
 * Computes log-probabilities and the sum of the losses that `lossOf` returns, and adds their gradients to the blocks in `gradients`.
 * Prefixes that sequences share are computed once, forward and backward. Throws `RangeError` if a loss has a gradient at a position that is
 * not read or not learned.
 */
export const forwardBackward = (
  compute: Compute,
  examples: ReadonlyArray<Example>,
  gradients: Gradients,
  lossOf: LossOf
): Trained => {
  const mark = compute.arena.mark()
  const { targets, tree } = planOf(examples)
  const adapter = gradients.adapter?.packed
  const records = recordsFor(compute, tree, targets, adapter)
  const batch = Batch.ofTree(compute, tree, adapter, records === "kept" ? "per layer" : "shared")
  const recorded = Forward.record(compute, batch, records)
  const input = headInput(compute, batch, recorded.x)
  const scored = Head.score(compute, input, targets)
  const logprobs = perExample(targets, scored.logprobs)
  const { coefficients, loss } = evaluate(examples, targets, logprobs, lossOf)
  if (coefficients.some((slope) => slope !== 0)) {
    const dx = headBackward(compute, batch, input, scored, { ...targets, coefficients }, gradients)
    Backward.run(compute, batch, recorded, dx, gradients)
  }
  compute.arena.reset(mark)
  return { logprobs, loss }
}

/** Sizes that determine the scratch space of a pass. */
export interface PassSize {
  readonly rows: number
  /** Number of tokens in the longest sequence. */
  readonly longest: number
  /** Number of targets in all rows. */
  readonly targets: number
  readonly paddedRank: number
}

/** Floats per row that one layer keeps for the backward pass, without its keys and values, which are in the cache. */
const recordFloats = (config: ModelConfig.ModelConfig): number => {
  const query = ModelConfig.querySize(config)
  const { feedForwardSize: wide, heads, hiddenSize: hidden, keyHeads } = config
  const attention = 2 * query + ModelConfig.keySize(config) + 3 * heads + keyHeads +
    (ModelConfig.hasHeadNorms(config) ? query : 0)
  return hidden + attention + 2 * wide + 2
}

/** Arena bytes that a forward and backward pass needs. */
export const scratchBytes = (
  config: ModelConfig.ModelConfig,
  size: PassSize,
  records: Forward.Records = "kept"
): number => {
  const query = ModelConfig.querySize(config)
  const key = ModelConfig.keySize(config)
  const { feedForwardSize: wide, hiddenSize: hidden, layers } = config
  const transient = 2 * hidden + Math.max(3 * wide, 2 * query + 2 * key) + size.paddedRank
  const perLayer = recordFloats(config) + 2 * key
  const record = records === "kept" ? layers * perLayer : perLayer + hidden
  const segments = 4 + 2
  const perRow = (layers + 2) * hidden + record + transient + 2 + segments + 1
  const logitRows = Math.min(size.rows, Head.chunkRows(config))
  const logits = logitRows * (ModelConfig.paddedVocabulary(config) + 2 * hidden + 3)
  const places = 16 * layers + 48
  const stored = Weights.fitsPanels(config) ? 0 : Linear.storedScratch(Math.max(wide, hidden, query))
  return (size.rows * perRow + 2 * size.targets + logits + 2 * (size.longest + 4) + stored) * 4 + places * 64
}

/** Records are kept if they fit into the arena, and recomputed otherwise. The results are bit-identical. */
const recordsFor = (
  { arena, config }: Compute,
  { ids, positions }: PrefixTree.PrefixTree,
  { tokens }: Targets.Targets,
  adapter: PackedAdapter | undefined
): Forward.Records => {
  const longest = positions.reduce((most, position) => Math.max(most, position + 1), 0)
  const paddedRank = adapter?.layout.paddedRank ?? 0
  const size = { rows: ids.length, longest, targets: tokens.length, paddedRank }
  return scratchBytes(config, size, "kept") <= arena.free() ? "kept" : "recomputed"
}
