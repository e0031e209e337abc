/** One micro-batch: log-probabilities of its targets, its loss and, where asked for, its gradient. */
import type { Datum, Loss } from "@effect-rl/core"
import type { PackedAdapter } from "../model/Adapter.ts"
import type { Compute } from "../model/Compute.ts"
import * as Losses from "../model/Loss.ts"
import * as Pass from "../model/Pass.ts"
import * as Memory from "../numerics/Memory.ts"
import type { Item, TaskOutput } from "./Protocol.ts"

export interface TrainingPass {
  readonly adapter: PackedAdapter
  readonly items: ReadonlyArray<Item>
  readonly loss: Loss.Loss<Datum.Kind>
  /** Block that is overwritten with the gradient. */
  readonly gradients: Memory.Address | undefined
}

const toExample = ({ inputs, tokens }: Item): Pass.Example => ({
  tokens,
  targets: inputs.targetTokens,
  candidates: inputs.targetTokens.length / tokens.length
})

const lossOf = ({ config, name }: Loss.Loss<Datum.Kind>, item: Item, logprobs: Float32Array): Losses.Result => {
  if (item.kind !== "PolicyTokens") return Losses.crossEntropy(logprobs, item.inputs)
  if (name === "cross_entropy") throw new TypeError("cross_entropy reads weights, the datum has advantages")
  return Losses.policy(name, config, logprobs, item.inputs)
}

const forward = (compute: Compute, { adapter, items, loss }: TrainingPass): Pass.Trained => {
  const logprobs = Pass.forward(compute, items.map(toExample), adapter)
  const sum = items.reduce(
    (sum, item, index) => sum + lossOf(loss, item, logprobs[index] ?? new Float32Array()).loss,
    0
  )
  return { logprobs, loss: sum }
}

const forwardBackward = (compute: Compute, { adapter, items, loss }: TrainingPass, block: Memory.Address) => {
  Memory.floats(compute.memory, block, adapter.layout.parameterFloats).fill(0)
  const lossOfExample = (logprobs: Float32Array, index: number) => {
    const item = items[index]
    if (item === undefined) throw new RangeError(`a pass over ${items.length} data has no ${index}`)
    return lossOf(loss, item, logprobs)
  }
  return Pass.forwardBackward(compute, items.map(toExample), { adapter: { packed: adapter, block } }, lossOfExample)
}

/** `[T]`: soft targets have at each position the log-probability of their mixture, Σₖ wₖ·lpₖ. */
const perPosition = (item: Item, logprobs: Float32Array): Float32Array => {
  if (item.kind !== "WeightedCandidates") return logprobs
  const { candidates, weights } = item.inputs
  const mixed = new Float32Array(item.tokens.length)
  for (let at = 0; at < logprobs.length; at++) {
    const position = Math.floor(at / candidates)
    mixed[position] = (mixed[position] ?? 0) + (weights[at] ?? 0) * (logprobs[at] ?? 0)
  }
  return mixed
}

export const run = (compute: Compute, pass: TrainingPass): TaskOutput => {
  const { logprobs, loss } = pass.gradients === undefined
    ? forward(compute, pass)
    : forwardBackward(compute, pass, pass.gradients)
  return {
    logprobs: pass.items.map((item, index) => perPosition(item, logprobs[index] ?? new Float32Array())),
    metrics: { "loss:sum": loss }
  }
}
