/** Samples from fixed weights. */
import type * as Effect from "effect/Effect"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Capabilities } from "./Capabilities.ts"
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
  /** What the backend can do for the model of these weights; absent where the client does not know. */
  readonly capabilities?: Capabilities
  /** Memory of these weights beside the base model, where the backend knows it. */
  readonly memoryBytes?: number
  readonly sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, TinkerError>
  /** One value per prompt token, NaN at the first. */
  readonly computeLogprobs: (prompt: ModelInput.ModelInput) => Effect.Effect<Float32Array, TinkerError>
}
