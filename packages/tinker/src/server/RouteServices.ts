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
  /** Limits the sequences that the backend samples concurrently, shared among callers. */
  readonly sampling: FairShare
  /** Checks client losses, and computes those that the backend does not compute. */
  readonly lossThread: LossThread
  /** Reads large training passes. */
  readonly passThread: PassThread
  /** Limits sampling requests. */
  readonly rateLimit: RateLimit
  /** Whether clients are asked to compress training passes. */
  readonly compressPasses: boolean
  /** The tokenizer name that `get_info` returns for a model. */
  readonly tokenizerOf: (model: string) => string
  /** The tokenizer and renderer of a base model, for clients that send conversations. */
  readonly chatModel: (model: string) => Effect.Effect<ChatModel.ChatModel, HttpRefusal>
  /** Returns a new name that is unique on this server. */
  readonly uniqueId: () => string
}
