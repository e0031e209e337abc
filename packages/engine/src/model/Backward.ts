/** The gradient of a loss over whole sequences. */
import type { Address } from "../numerics/Memory.ts"
import * as Attention from "./Attention.ts"
import type { SequenceBatch } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as FeedForward from "./FeedForward.ts"
import type { Recorded } from "./Forward.ts"
import type { Gradients } from "./Gradients.ts"

/** Adds the gradients of everything that `gradients` names, from the gradient `dx` in the hidden rows before the head. */
export const run = (
  compute: Compute,
  batch: SequenceBatch,
  recorded: Recorded,
  dx: Address,
  gradients: Gradients
): void => {
  const { arena, config, kernels, weights } = compute
  for (const [index, layer] of [...weights.layers.entries()].reverse()) {
    const mark = arena.mark()
    const { attention, feedForward } = recorded.layer(index)
    FeedForward.backward(compute, batch, index, layer, feedForward, dx, gradients)
    Attention.backward(compute, batch, index, layer, attention, dx, gradients)
    arena.reset(mark)
  }
  if (gradients.base !== undefined) {
    kernels.addRowsAt(gradients.base.embedding, dx, batch.ids, batch.rows, config.hiddenSize)
  }
}
