/** The service interface of the backends, which sample and train. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Capabilities } from "./Capabilities.ts"
import type { SamplingClient } from "./SamplingClient.ts"
import type { TinkerError } from "./TinkerError.ts"
import type { Checkpoint, TrainingClient, UserMetadata } from "./TrainingClient.ts"

/** Options of a LoRA adapter. With equal seeds, backends that support seeds initialise equal adapters. */
export interface LoraOptions {
  /** The base model's name at the backend. */
  readonly baseModel: string
  /** Rank of the adapter's matrices. Default: 32. */
  readonly loraRank?: number
  /** Seed of the adapter's initial values. Default: the backend's. */
  readonly seed?: number
  /** Adapt the MLP layers. Default: true. */
  readonly trainMlp?: boolean
  /** Adapt the attention layers. Default: true. */
  readonly trainAttn?: boolean
  /** Adapt the output layer. Default: true. */
  readonly trainUnembed?: boolean
  /** Metadata of the training run, for backends that list runs. */
  readonly userMetadata?: UserMetadata
}

/**
 * Options of a client that continues from a checkpoint: metadata of the new training run, and the digest that the checkpoint had when it
 * was saved. A backend that verifies digests refuses a checkpoint with another digest.
 */
export interface StateOptions extends Pick<LoraOptions, "userMetadata">, Pick<Checkpoint, "digest"> {}

/**
 * The backend of a program: hosted, embedded or scripted, depending on the Layer that the program provides.
 *
 * @example
 * Effect.gen(function*() {
 *   const tinker = yield* Tinker.Tinker
 *   const training = yield* tinker.createLoraTrainingClient({ baseModel: "effect-rl/tiny-64", loraRank: 32 })
 *   return yield* training.saveWeightsAndGetSamplingClient
 * })
 *
 * @see tinker `ServiceClient`
 */
export class Tinker extends Context.Service<Tinker, {
  /** Succeeds while the backend can answer; fails as `Unavailable` once it cannot, for example after it crashed. */
  readonly health: Effect.Effect<void, TinkerError>
  /** Names of the models that can be trained and sampled from. */
  readonly models: Effect.Effect<ReadonlyArray<string>, TinkerError>
  readonly capabilities: (model: string) => Effect.Effect<Capabilities, TinkerError>
  readonly createLoraTrainingClient: (options: LoraOptions) => Effect.Effect<TrainingClient, TinkerError, Scope.Scope>
  /** A training client that continues from a checkpoint of `saveState`, including the optimizer state. */
  readonly createTrainingClientFromState: (
    path: string,
    options?: StateOptions
  ) => Effect.Effect<TrainingClient, TinkerError, Scope.Scope>
  readonly createSamplingClient: (
    from: { readonly baseModel: string } | { readonly modelPath: string; readonly digest?: string }
  ) => Effect.Effect<SamplingClient, TinkerError, Scope.Scope>
}>()("@effect-rl/core/backend/Tinker") {}
