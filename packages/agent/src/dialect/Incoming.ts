/** An incoming request: the text of its body, and its caller's answerer. */
import type * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { Answerer } from "./Answerer.ts"
import type { Kept } from "./Kept.ts"
import type * as Notes from "./Notes.ts"
import type { Refusal } from "./Refusal.ts"

export interface Incoming extends Notes.Policy {
  readonly answerer: Answerer
  /** The conversation state that the caller's session keeps; absent if it keeps none. */
  readonly kept?: Kept
  /** Reads the body once, within the server's size limit. */
  readonly body: Effect.Effect<string, Refusal, HttpServerRequest.HttpServerRequest>
}

/** Admits a request: finds its caller's answerer, or refuses the request. */
export type Serve<R> = Effect.Effect<Incoming, Refusal, R>
