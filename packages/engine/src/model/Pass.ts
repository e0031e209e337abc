/** One pass over whole sequences: log-probabilities of their targets and, where asked for, gradients. */
import type { PackedAdapter } from "./Adapter.ts"
import * as Backward from "./Backward.ts"
import * as Batch from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as Forward from "./Forward.ts"
import type { Gradients } from "./Gradients.ts"
import * as Head from "./Head.ts"
import * as Linear from "./Linear.ts"
import type * as Loss from "./Loss.ts"
import * as ModelConfig from "./ModelConfig.ts"
import * as Weights from "./Weights.ts"

/** A sequence and its targets `[tokens, candidates]`. */
export interface Example {
  readonly tokens: Int32Array
  readonly targets: Int32Array
  readonly candidates: number
}

export interface Trained {
  /** Per example `[tokens, candidates]`. */
  readonly logprobs: ReadonlyArray<Float32Array>
  /** Summed over examples in their order. */
  readonly loss: number
}

/** Targets of all rows with one number of candidates; an example that has fewer repeats token 0 with weight 0. */
const alignTargets = (examples: ReadonlyArray<Example>): { targets: Int32Array; candidates: number } => {
  const candidates = examples.reduce((most, example) => Math.max(most, example.candidates), 1)
  const rows = examples.reduce((sum, example) => sum + example.tokens.length, 0)
  const targets = new Int32Array(rows * candidates)
  let row = 0
  for (const example of examples) {
    for (let t = 0; t < example.tokens.length; t++, row++) {
      const from = t * example.candidates
      targets.set(example.targets.subarray(from, from + example.candidates), row * candidates)
    }
  }
  return { targets, candidates }
}

/** Cuts rows of `aligned` candidates back to each example's own. */
const perExample = (
  examples: ReadonlyArray<Example>,
  values: Float32Array,
  aligned: number
): ReadonlyArray<Float32Array> => {
  let row = 0
  return examples.map(({ candidates, tokens }) => {
    const own = new Float32Array(tokens.length * candidates)
    for (let t = 0; t < tokens.length; t++, row++) {
      own.set(values.subarray(row * aligned, row * aligned + candidates), t * candidates)
    }
    return own
  })
}

/** Log-probabilities alone. */
export const forward = (
  compute: Compute,
  examples: ReadonlyArray<Example>,
  adapter: PackedAdapter | undefined
): ReadonlyArray<Float32Array> => {
  const mark = compute.arena.mark()
  const batch = Batch.ofSequences(compute, examples.map((example) => example.tokens), adapter, "shared")
  const input = { x: Forward.run(compute, batch), rows: batch.rows, groups: batch.groups }
  const { candidates, targets } = alignTargets(examples)
  const { logprobs } = Head.score(compute, input, targets, candidates)
  compute.arena.reset(mark)
  return perExample(examples, logprobs, candidates)
}

/**
 * Log-probabilities, the loss that `lossOf` gives each example for them, and its gradients, which are added to the
 * blocks that `gradients` names.
 */
export const forwardBackward = (
  compute: Compute,
  examples: ReadonlyArray<Example>,
  gradients: Gradients,
  lossOf: (logprobs: Float32Array, example: number) => Loss.Result
): Trained => {
  const mark = compute.arena.mark()
  const { candidates, targets } = alignTargets(examples)
  const adapter = gradients.adapter?.packed
  const records = recordsFor(compute, examples, candidates, adapter)
  const caches = records === "kept" ? "per layer" : "shared"
  const batch = Batch.ofSequences(compute, examples.map((example) => example.tokens), adapter, caches)
  const recorded = Forward.record(compute, batch, records)
  const input = { x: recorded.x, rows: batch.rows, groups: batch.groups }
  const scored = Head.score(compute, input, targets, candidates)
  const logprobs = perExample(examples, scored.logprobs, candidates)
  const coefficients = new Float32Array(targets.length)
  let loss = 0
  let row = 0
  logprobs.forEach((own, index) => {
    const result = lossOf(own, index)
    const example = examples[index]
    if (example === undefined) return
    loss += result.loss
    for (let t = 0; t < example.tokens.length; t++, row++) {
      const from = t * example.candidates
      coefficients.set(result.gradient.subarray(from, from + example.candidates), row * candidates)
    }
  })
  if (coefficients.some((slope) => slope !== 0)) {
    const target = { targets, candidates, coefficients }
    Backward.run(compute, batch, recorded, Head.backward(compute, input, scored.logits, target, gradients), gradients)
  }
  compute.arena.reset(mark)
  return { logprobs, loss }
}

/** Sizes that decide how much scratch space a pass needs. */
export interface PassSize {
  readonly rows: number
  /** Tokens of the longest sequence. */
  readonly longest: number
  readonly candidates: number
  readonly paddedRank: number
}

/** Floats per row that one layer keeps for the backward pass. */
const recordFloats = (config: ModelConfig.ModelConfig): number => {
  const query = ModelConfig.querySize(config)
  const { feedForwardSize: wide, heads, hiddenSize: hidden, keyHeads } = config
  const attention = 2 * query + ModelConfig.keySize(config) + 3 * heads + keyHeads +
    (ModelConfig.hasHeadNorms(config) ? query : 0)
  return hidden + attention + 2 * wide + 2
}

/** Bytes of arena that a pass forward and backward needs. */
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
  const perRow = (layers + 2) * hidden + record + transient + 3 + 2 * size.candidates
  const logitRows = Math.min(size.rows, Head.chunkRows(config))
  const logits = logitRows * (ModelConfig.paddedVocabulary(config) + 2 * hidden + 3)
  const places = 16 * layers + 48
  const stored = Weights.fitsPanels(config) ? 0 : Linear.storedScratch(Math.max(wide, hidden, query))
  return (size.rows * perRow + logits + 2 * (size.longest + 4) + stored) * 4 + places * 64
}

/** Records are kept where they fit into the arena; the results are the same to the bit. */
const recordsFor = (
  { arena, config }: Compute,
  examples: ReadonlyArray<Example>,
  candidates: number,
  adapter: PackedAdapter | undefined
): Forward.Records => {
  const lengths = examples.map(({ tokens }) => tokens.length)
  const rows = lengths.reduce((sum, length) => sum + length, 0)
  const size = { rows, longest: Math.max(0, ...lengths), candidates, paddedRank: adapter?.layout.paddedRank ?? 0 }
  return scratchBytes(config, size, "kept") <= arena.free() ? "kept" : "recomputed"
}
