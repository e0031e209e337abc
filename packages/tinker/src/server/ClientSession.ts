/** A client's session with its models and samplers. */
import type { SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import type { LossGraph } from "@effect-rl/core/losses"
import type * as Scope from "effect/Scope"
import type * as Semaphore from "effect/Semaphore"
import type * as Wire from "../wire/SavedWeights.ts"
import type * as Inflight from "./Inflight.ts"
import type * as RequestOrder from "./RequestOrder.ts"
import type * as SessionLog from "./SessionLog.ts"

type WeightsInfo = typeof Wire.WeightsInfo.Type

/** The parts of a model that have an adapter. */
export type Trains = Pick<WeightsInfo, "train_attn" | "train_mlp" | "train_unembed">

export interface Model {
  /** `<session>:train:<number>`: a session's id is random, so that no id is ever used again, unlike a backend's own. */
  readonly id: string
  readonly client: TrainingClient.TrainingClient
  readonly session: ClientSession
  readonly scope: Scope.Closeable
  readonly turns: RequestOrder.RequestOrder
  /** Weights that its inflight samplers use. */
  inflight: Inflight.Published | undefined
  /** Memory of these, and of earlier ones that are still in use. */
  inflightBytes: number
  readonly trains: Trains
  lastRequestAt: number
}

export interface Sampler {
  readonly id: string
  readonly client: SamplingClient.SamplingClient
  readonly session: ClientSession
  readonly scope: Scope.Closeable
  readonly baseModel: string
  readonly modelPath: string | undefined
  /** The id of the model whose weights the sampler keeps; they exist nowhere else. */
  readonly snapshotOf: string | undefined
  /** Clients that joined after the first. */
  clients: number
  /** Requests under way. */
  running: number
  lastUsedAt: number
}

export interface ClientSession {
  readonly id: string
  readonly tenant: string | undefined
  readonly scope: Scope.Closeable
  readonly entry: SessionLog.Entry
  /** Ids of models and samplers that were made in it, in use or not. */
  readonly usedIds: Set<string>
  /** Graphs that its clients sent, by the ids of the losses. */
  readonly losses: Map<string, LossGraph.LossGraph>
  /** Lets one request at a time create the sampler of named weights. */
  readonly namedSamplers: Semaphore.Semaphore
  lastSeenAt: number
}

/** A description of the weights in a model's checkpoints. */
export const weightsOf = ({ client: { info }, trains }: Model): WeightsInfo => ({
  base_model: info.baseModel,
  is_lora: true,
  lora_rank: info.loraRank,
  ...trains
})
