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

/** Which parts of a model have an adapter. */
export type Trains = Pick<WeightsInfo, "train_attn" | "train_mlp" | "train_unembed">

export interface Model {
  /** `<session>:train:<number>`. A session's id is random, so ids are never reused, unlike the ids of a backend. */
  readonly id: string
  readonly client: TrainingClient.TrainingClient
  readonly session: ClientSession
  readonly scope: Scope.Closeable
  readonly turns: RequestOrder.RequestOrder
  /** The weights that inflight samplers of this model use. */
  inflight: Inflight.Published | undefined
  /** Memory in bytes of these weights and of earlier ones still in use. */
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
  /** The id of the model whose snapshot only this sampler holds; undefined for other samplers. */
  readonly snapshotOf: string | undefined
  /** The number of clients that joined after the first. */
  clients: number
  /** The number of sampling requests in progress. */
  running: number
  lastUsedAt: number
}

export interface ClientSession {
  readonly id: string
  readonly tenant: string | undefined
  readonly scope: Scope.Closeable
  readonly entry: SessionLog.Entry
  /** Ids of all models and samplers created in the session, whether or not they are still in use. */
  readonly usedIds: Set<string>
  /** Loss graphs that clients sent, by loss id. */
  readonly losses: Map<string, LossGraph.LossGraph>
  /** Lets only one request at a time create the sampler of named weights. */
  readonly namedSamplers: Semaphore.Semaphore
  lastSeenAt: number
}

/** The description of the weights in a model's checkpoints. */
export const weightsOf = ({ client: { info }, trains }: Model): WeightsInfo => ({
  base_model: info.baseModel,
  is_lora: true,
  lora_rank: info.loraRank,
  ...trains
})
