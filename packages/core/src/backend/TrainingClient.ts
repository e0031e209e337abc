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
 * `logprobs[i]` is `[T]` of datum `i`, or `[T, K]` row-major of its candidates, under the weights at submission; `metrics` has
 * `loss:sum`.
 */
export interface ForwardBackwardOutput {
  readonly logprobs: ReadonlyArray<Float32Array>
  readonly metrics: Readonly<Record<string, number>>
}

/** Options of what a pass reports besides the gradient. */
export interface PassOptions {
  /**
   * Where log-probabilities are computed: at every position unless given. `"counted"` asks for those that the loss reads, where the
   * weight or the mask is not 0, and leaves it to the backend whether it computes the others, which may be NaN.
   */
  readonly logprobs?: "all" | "counted"
}

/** Metrics of an optimizer step, such as `grad_norm` before clipping and `update_norm`; absent where the backend has none. */
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
  /** Memory of its weights, its optimizer and its gradients, where the backend knows it. */
  readonly memoryBytes?: number
}

/** A loss computed here: its value, ∂loss/∂logprob `[T]` per datum, and metrics to report. */
export interface CustomLossOutput {
  readonly loss: number
  readonly gradients: ReadonlyArray<Float32Array>
  readonly metrics?: Readonly<Record<string, number>>
}

/** A loss of the caller, given the data and their log-probabilities `[T]`. */
export type CustomLoss<E = never, R = never> = (
  data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
  logprobs: ReadonlyArray<Float32Array>
) => Effect.Effect<CustomLossOutput, E, R>

/** What a loss graph reads of one datum: the targets of `logprobs` `[T]`, and its other inputs by their names. */
export interface GraphDatum {
  readonly modelInput: ModelInput.ModelInput
  readonly targetTokens: Int32Array
  readonly inputs: Readonly<Record<string, LossGraph.Values>>
  /** 1 at the positions whose log-probability the loss depends on, 0 where it may be NaN; unless given it depends on all. */
  readonly counted?: Uint8Array
}

/** Texts by name that say who or what made something, as the listings of a service return them. */
export type UserMetadata = Readonly<Record<string, string>>

/** How a checkpoint is kept and found again. */
export interface SaveOptions {
  /** Retention of the checkpoint on backends that expire them; forever unless given. */
  readonly ttl?: Duration.Input
  /** Metadata of the checkpoint, for backends that list checkpoints. */
  readonly userMetadata?: UserMetadata
}

/** Besides its retention, who can read the files: age recipients, native keys or SSH public keys; anyone unless given. */
export interface ExternalSaveOptions extends Pick<SaveOptions, "ttl"> {
  readonly ageEncryptionRecipients?: ReadonlyArray<string>
}

/**
 * Calls are queued in submission order and return as soon as they are accepted; see `Pending`.
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
  /** Adds the gradient of the loss summed over all tokens of `data` to what `optimStep` will use. */
  readonly forwardBackward: <K extends Datum.Kind>(
    data: NonEmptyReadonlyArray<Datum.Datum<NoInfer<K>>>,
    loss: Loss.Loss<K>,
    options?: PassOptions
  ) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>
  /** The same outputs without gradients. */
  readonly forward: <K extends Datum.Kind>(
    data: NonEmptyReadonlyArray<Datum.Datum<NoInfer<K>>>,
    loss: Loss.Loss<K>
  ) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>
  /**
   * A loss that the caller computes: a forward pass, the caller's function, then its gradient as a weighted backward pass.
   * Both passes have their place in the order of submission at once: later calls run after both, and do not run where the
   * loss fails. So the function must not await a later call of this client.
   */
  readonly forwardBackwardCustom: <E, R>(
    data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
    loss: CustomLoss<E, R>
  ) => Effect.Effect<Pending<ForwardBackwardOutput, TinkerError | E>, TinkerError, R>
  /** The loss of a graph, computed by the backend in one pass; absent where the backend computes no graphs. */
  readonly forwardBackwardGraph?: (
    data: NonEmptyReadonlyArray<GraphDatum>,
    graph: LossGraph.LossGraph
  ) => Effect.Effect<Pending<ForwardBackwardOutput>, TinkerError>
  readonly optimStep: (adam: AdamParams) => Effect.Effect<Pending<OptimStepOutput>, TinkerError>
  /** Weights and optimizer, from which training can continue. */
  readonly saveState: (name: string, options?: SaveOptions) => Effect.Effect<Pending<Checkpoint>, TinkerError>
  /** Weights alone, to sample from later. */
  readonly saveWeightsForSampler: (
    name: string,
    options?: SaveOptions
  ) => Effect.Effect<Pending<Checkpoint>, TinkerError>
  /** Weights in a format that other programs load, to download file by file; absent where the backend has none. */
  readonly saveWeightsExternal?: (
    name: string,
    options?: ExternalSaveOptions
  ) => Effect.Effect<Pending<Checkpoint>, TinkerError>
  /** Weights as they are after every call submitted so far, kept until the scope closes. */
  readonly saveWeightsAndGetSamplingClient: Effect.Effect<SamplingClient, TinkerError, Scope.Scope>
  /**
   * The same weights, which later ones replace for all clients that this has returned: a sample may come from several, and does not
   * say which. Absent where the backend has no such weights.
   *
   * @see tinker `save_weights_and_get_sampling_client(kind="inflight")`
   */
  readonly saveInflightWeightsAndGetSamplingClient?: Effect.Effect<SamplingClient, TinkerError, Scope.Scope>
  /** Weights alone, or with the optimizer's state; drops gradients not yet used. */
  readonly loadState: (
    path: string,
    options?: { readonly optimizer?: boolean }
  ) => Effect.Effect<Pending<void>, TinkerError>
  /** Frees the model before its scope closes; later calls fail as `Closed`. */
  readonly unload: Effect.Effect<void, TinkerError>
}
