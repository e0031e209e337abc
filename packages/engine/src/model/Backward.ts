/** The backward pass over whole sequences. */
import type { Address } from "../numerics/Memory.ts"
import * as Attention from "./Attention.ts"
import type { TreeBatch } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as FeedForward from "./FeedForward.ts"
import type { Recorded } from "./Forward.ts"
import type { Gradients } from "./Gradients.ts"

const none = { rows: 0, segments: 0 }

/**
 * Adds gradients to all blocks in `gradients`. `dx` is the gradient in the reached hidden rows before the head. Rows that are reached only
 * through later rows start with a zero gradient; in the last layer only the keys and values of these rows receive a gradient.
 */
export const run = (
  compute: Compute,
  batch: TreeBatch,
  recorded: Recorded,
  dx: Address,
  gradients: Gradients
): void => {
  const { arena, config, kernels, weights } = compute
  const { reached } = batch
  for (const [index, layer] of [...weights.layers.entries()].reverse()) {
    const mark = arena.mark()
    const through = index === config.layers - 1 ? batch.through : none
    const { attention, feedForward } = recorded.layer(index)
    FeedForward.backward(compute, index, layer, [through.rows, reached.rows], feedForward, dx, gradients)
    Attention.backward(compute, batch, index, layer, { reached, through }, attention, dx, gradients)
    arena.reset(mark)
  }
  if (gradients.base !== undefined) {
    kernels.addRowsAt(gradients.base.embedding, dx, batch.ids, reached.rows, config.hiddenSize)
  }
}
