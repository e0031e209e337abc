/** Trains one LoRA adapter. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as LossGraph from "../losses/LossGraph.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type { Pending } from "./Pending.ts"
import type { SamplingClient } from "./SamplingClient.ts"
import type { TinkerError } from "./TinkerError.ts"

/**
 * The output of a pass. `logprobs[i]` has shape `[T]` for datum `i`, or `[T, K]` (row-major) if it has candidates, computed with the
 * weights at submission. `metrics` contains `loss:sum`.
 */
export interface ForwardBackwardOutput {
  readonly logprobs: ReadonlyArray<Float32Array>
  readonly metrics: Readonly<Record<string, number>>
}

/** Options that control what a pass reports besides the gradient. */
export interface PassOptions {
  /**
   * Positions whose log-probabilities are computed. Default: "all". With "counted", the backend must compute only those that the loss
   * reads, where the weight or the mask is not 0; the others may be NaN.
   */
  readonly logprobs?: "all" | "counted"
}

/** Metrics of an optimizer step, such as `grad_norm` before clipping and `update_norm`; absent if the backend reports none. */
export interface OptimStepOutput {
  readonly metrics: Readonly<Record<string, number>>
}

/** The path of a saved checkpoint, and its digest on backends that verify it when they load the checkpoint. */
export interface Checkpoint {
  readonly path: string
  readonly digest?: string
}

/** The model that a client trains. */
export interface ModelInfo {
  readonly modelId: string
  readonly baseModel: string
  readonly loraRank: number
  /** Bytes of memory for its weights, optimizer state and gradients, if the backend knows. */
  readonly memoryBytes?: number
}

/** The result of a custom loss: its value, ∂loss/∂logprob with shape `[T]` per datum, and metrics to report. */
export interface CustomLossOutput {
  readonly loss: number
  readonly gradients: ReadonlyArray<Float32Array>
  readonly metrics?: Readonly<Record<string, number>>
}

/** A custom loss function. It receives the data and their log-probabilities, `[T]` per datum. */
export type CustomLoss<E = never, R = never> = (
  data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
  logprobs: ReadonlyArray<Float32Array>
) => Effect.Effect<CustomLossOutput, E, R>

/** The inputs that a loss graph reads from one datum: the targets of `logprobs`, shape `[T]`, and the other inputs by name. */
export interface GraphDatum {
  readonly modelInput: ModelInput.ModelInput
  readonly targetTokens: Int32Array
  readonly inputs: Readonly<Record<string, LossGraph.Values>>
  /** 1 at positions whose log-probability the loss depends on; 0 at positions where it may be NaN. Default: 1 everywhere. */
  readonly counted?: Uint8Array
}

/**
 * Texts by name that a program attaches to a training run or a checkpoint. The service returns them with its lists of training runs and
 * checkpoints.
 */
export type UserMetadata = Readonly<Record<string, string>>

/** Retention and metadata of a saved checkpoint. */
export interface SaveOptions {
  /** Retention of the checkpoint, on backends that expire checkpoints. Default: forever. */
  readonly ttl?: Duration.Input
  /** Metadata of the checkpoint, for backends that list checkpoints. */
  readonly userMetadata?: UserMetadata
}

/** Options for external weights. The retention is that of other checkpoints. */
export interface ExternalSaveOptions extends Pick<SaveOptions, "ttl"> {
  /** Public keys of age (native or SSH). Only their owners can decrypt the files. Default: not encrypted. */
  readonly ageEncryptionRecipients?: ReadonlyArray<string>
}

/**
 * A client that trains one model. Calls are queued in submission order and return as soon as they are accepted; see `Pending`.
 *
 * @example
 * Effect.gen(function*() {
 *   const pass = yield* training.forwardBackward(data, Loss.importanceSampling)
 *   const step = yield* training.optimStep({ learningRate: 1e-4 })
 *   return [yield* pass.await, yield* step.await]
 * })
 *
 * @see tinker `TrainingClient`
 */
export interface TrainingClient {
  readonly info: ModelInfo
  /** Adds the gradient of the loss, summed over all tokens of `data`, to the gradient that the next `optimStep` applies. */
  readonly forwardBackward: <K extends Datum.Kind>(
    data: NonEmptyReadonlyArray<Datum.Datum<NoInfer<K>>>,
    loss: Loss.Loss<K>,
    options?: PassOptions
  ) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>
  /** Computes the same outputs as `forwardBackward`, without gradients. */
  readonly forward: <K extends Datum.Kind>(
    data: NonEmptyReadonlyArray<Datum.Datum<NoInfer<K>>>,
    loss: Loss.Loss<K>
  ) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>
  /**
   * Computes a custom loss: a forward pass, the caller's function, then its gradient as a weighted backward pass. Both passes take their
   * place in the submission order at once. Later calls run after both, and do not run if the loss fails, so the function must not await a
   * later call of this client.
   */
  readonly forwardBackwardCustom: <E, R>(
    data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
    loss: CustomLoss<E, R>
  ) => Effect.Effect<Pending<ForwardBackwardOutput, TinkerError | E>, TinkerError, R>
  /** Computes the loss of a graph in one pass on the backend; absent if the backend computes no graphs. */
  readonly forwardBackwardGraph?: (
    data: NonEmptyReadonlyArray<GraphDatum>,
    graph: LossGraph.LossGraph
  ) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>
  readonly optimStep: (adam: AdamParams) => Effect.Effect<Pending<OptimStepOutput>, TinkerError>
  /** Saves weights and optimizer state, from which training can continue. */
  readonly saveState: (name: string, options?: SaveOptions) => Effect.Effect<Pending<Checkpoint>, TinkerError>
  /** Saves the weights alone, for later sampling. */
  readonly saveWeightsForSampler: (
    name: string,
    options?: SaveOptions
  ) => Effect.Effect<Pending<Checkpoint>, TinkerError>
  /** Saves the weights in a format that other programs load, for download file by file; absent if the backend has no such format. */
  readonly saveWeightsExternal?: (
    name: string,
    options?: ExternalSaveOptions
  ) => Effect.Effect<Pending<Checkpoint>, TinkerError>
  /** A sampling client for the weights after every call submitted so far. The weights are kept until the scope closes. */
  readonly saveWeightsAndGetSamplingClient: Effect.Effect<SamplingClient, TinkerError, Scope.Scope>
  /**
   * Like `saveWeightsAndGetSamplingClient`, but the next call replaces the weights of every client returned before. The tokens of one
   * sample may come from several versions of the weights, and the sample does not say which. Absent if the backend does not support this.
   *
   * @see tinker `save_weights_and_get_sampling_client(kind="inflight")`
   */
  readonly saveInflightWeightsAndGetSamplingClient?: Effect.Effect<SamplingClient, TinkerError, Scope.Scope>
  /** Loads the weights alone, or with the optimizer state. Gradients not yet applied are dropped. */
  readonly loadState: (
    path: string,
    options?: { readonly optimizer?: boolean }
  ) => Effect.Effect<Pending<void>, TinkerError>
  /** Frees the model before its scope closes. Later calls fail as `Closed`. */
  readonly unload: Effect.Effect<void, TinkerError>
}
