/** A model's share of the engine's memory, as text. */
import { Quantity } from "@effect-rl/core/records"
import type { Engine } from "@effect-rl/engine"

export const line = ({ contextLength, name, threads, totalBytes, weightBytes }: Engine.ModelPlan): string =>
  `memory: ${name} takes ${Quantity.bytes(totalBytes)}, ${Quantity.bytes(weightBytes)} of them weights, for ` +
  `sequences of ${contextLength} tokens on ${threads} ${threads === 1 ? "thread" : "threads"}`
