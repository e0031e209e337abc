/** The gradient of a loss over whole sequences. */
import * as Attention from "./Attention.ts"
import type { SequenceBatch } from "./Batch.ts"
import type { Compute } from "./Compute.ts"
import * as FeedForward from "./FeedForward.ts"
import type { LayerRecord } from "./Forward.ts"
import type { Gradients } from "./Gradients.ts"
import * as Head from "./Head.ts"

/** Adds the gradients of everything that `gradients` names, from ∂L/∂logprob of each target. */
export const run = (
  compute: Compute,
  batch: SequenceBatch,
  layers: ReadonlyArray<LayerRecord>,
  logits: Head.Logits,
  target: Head.TargetGradient,
  gradients: Gradients
): void => {
  const { config, kernels, weights } = compute
  const dx = Head.backward(compute, logits, target, gradients)
  for (let index = layers.length - 1; index >= 0; index--) {
    const layer = weights.layers[index]
    const kept = layers[index]
    if (layer === undefined || kept === undefined) continue
    FeedForward.backward(compute, batch, index, layer, kept.feedForward, dx, gradients)
    Attention.backward(compute, batch, index, layer, kept.attention, dx, gradients)
  }
  if (gradients.base !== undefined) {
    kernels.addRowsAt(gradients.base.embedding, dx, batch.ids, batch.rows, config.hiddenSize)
  }
}
