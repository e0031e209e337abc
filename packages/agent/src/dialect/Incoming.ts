/** A request that has come in: the text of its body, and the answerer of its caller. */
import type * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { Answerer } from "./Answerer.ts"
import type { Kept } from "./Kept.ts"
import type * as Notes from "./Notes.ts"
import type { Refusal } from "./Refusal.ts"

export interface Incoming extends Notes.Policy {
  readonly answerer: Answerer
  /** What the session of the caller keeps; absent where nothing is kept. */
  readonly kept?: Kept
  /** Reads the body, once, within the limits of whoever serves it. */
  readonly body: Effect.Effect<string, Refusal, HttpServerRequest.HttpServerRequest>
}

/** Lets a request in: finds the answerer of its caller, or refuses it. */
export type Serve<R> = Effect.Effect<Incoming, Refusal, R>
