/** Samples from fixed weights. */
import type * as Effect from "effect/Effect"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { TinkerError } from "./TinkerError.ts"

/**
 * @see tinker `SamplingClient`
 *
 * @example
 * client.sample({ prompt, params: { maxTokens: 16, seed: 1 } }).pipe(
 *   Effect.map(({ sequences }) => sequences.map(({ tokens }) => tokens))
 * )
 */
export interface SamplingClient {
  /** The weights this client samples from: a base model's name or a checkpoint path. */
  readonly modelPath: string
  readonly sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, TinkerError>
  /** One value per prompt token, NaN at the first. */
  readonly computeLogprobs: (prompt: ModelInput.ModelInput) => Effect.Effect<Float32Array, TinkerError>
}
