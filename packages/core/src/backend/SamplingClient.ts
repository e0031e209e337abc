/** Samples from fixed weights. */
import type * as Effect from "effect/Effect"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Capabilities } from "./Capabilities.ts"
import type { TinkerError } from "./TinkerError.ts"

/**
 * A client that samples from fixed weights and scores prompts.
 *
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
  /** What the backend can do with the model of these weights; absent if the client does not know. */
  readonly capabilities?: Capabilities
  /** Bytes of memory that these weights need in addition to the base model, if the backend knows. */
  readonly memoryBytes?: number
  readonly sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, TinkerError>
  /** The log-probability of each prompt token; NaN at the first. */
  readonly computeLogprobs: (prompt: ModelInput.ModelInput) => Effect.Effect<Float32Array, TinkerError>
}
