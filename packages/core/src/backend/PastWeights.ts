/** The weights that a policy had some iterations ago, saved as a checkpoint for sampling. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Tinker } from "./Tinker.ts"
import type { Weights } from "./Weights.ts"

/** The saved weights, as an iteration leaves them to the next one. */
export const PastWeights = Schema.Struct({
  /** The path of the checkpoint. */
  path: Schema.String,
  /** The number of iterations that used it. */
  used: Schema.Int,
  /** The number of iterations so far. */
  iterations: Schema.Int
})
export interface PastWeights extends Schema.Schema.Type<typeof PastWeights> {}

/**
 * A sampling client of the past weights for the next iteration, until the scope closes. The present weights are saved and take their place
 * if there are none yet, or if `every` iterations have used them.
 */
export const next = Effect.fnUntraced(function*(every: number, before: PastWeights | null, { training }: Weights) {
  const kept = before !== null && before.used < every ? before : undefined
  const iterations = before?.iterations ?? 0
  const name = `trailing-${String(iterations).padStart(6, "0")}`
  const saved = Effect.flatMap(training.saveWeightsForSampler(name), (saved) => saved.await)
  const { path } = kept ?? (yield* saved)
  const client = yield* Tinker.use((tinker) => tinker.createSamplingClient({ modelPath: path }))
  const past: PastWeights = { path, used: (kept?.used ?? 0) + 1, iterations: iterations + 1 }
  return { client, past }
})
