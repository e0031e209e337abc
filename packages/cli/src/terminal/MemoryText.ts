/** A model's share of the engine's memory, as text. */
import type { Engine } from "@effect-rl/engine"
import * as Quantity from "./Quantity.ts"

export const line = ({ contextLength, name, threads, totalBytes, weightBytes }: Engine.ModelPlan): string =>
  `memory: ${name} takes ${Quantity.bytes(totalBytes)}, ${Quantity.bytes(weightBytes)} of them weights, for ` +
  `sequences of ${contextLength} tokens on ${threads} ${threads === 1 ? "thread" : "threads"}`
