/** The services and settings that all routes share. */
import type { ChatModel, Tinker } from "@effect-rl/core"
import type * as Effect from "effect/Effect"
import type { Audit } from "./Audit.ts"
import type { CheckpointStore } from "./CheckpointStore.ts"
import type { ClientSessions } from "./ClientSessions.ts"
import type { FairShare } from "./FairShare.ts"
import type { Futures } from "./Futures.ts"
import type { HttpRefusal } from "./HttpRefusal.ts"
import type { LossThread } from "./LossThread.ts"
import type { PassThread } from "./PassThread.ts"
import type { RateLimit } from "./RateLimit.ts"

export interface RouteServices {
  readonly tinker: Tinker.Tinker["Service"]
  readonly sessions: ClientSessions
  readonly futures: Futures
  readonly checkpoints: CheckpointStore
  readonly audit: Audit
  /** Sequences that the backend samples at once, shared between callers. */
  readonly sampling: FairShare
  /** Computes and checks the losses that clients send, but for those that the backend computes. */
  readonly lossThread: LossThread
  /** Reads large training passes. */
  readonly passThread: PassThread
  /** The limit on requests to sample. */
  readonly rateLimit: RateLimit
  /** Whether clients are asked to compress their training passes. */
  readonly compressPasses: boolean
  /** The tokenizer of a model, as `get_info` names it. */
  readonly tokenizerOf: (model: string) => string
  /** Tokenizer and renderer of a base model, for clients that send conversations. */
  readonly chatModel: (model: string) => Effect.Effect<ChatModel.ChatModel, HttpRefusal>
  /** A name that is unique on this server. */
  readonly uniqueId: () => string
}
