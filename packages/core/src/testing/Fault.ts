/** What goes wrong in a scripted backend, and when. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Reason } from "../backend/TinkerError.ts"
import type { Operation } from "./Call.ts"

/** Runs before each request; `call` counts requests of the same operation from 0. A training request has then been accepted. */
export type Fault = (operation: Operation, call: number) => Effect.Effect<void, Reason>

/** The given call of an operation fails, as all others succeed. */
export const failAt = (operation: Operation, call: number, reason: Reason): Fault => (found, count) =>
  found === operation && count === call ? Effect.fail(reason) : Effect.void

/** Every call of an operation takes this long. */
export const delay = (operation: Operation, duration: Duration.Input): Fault => (found) =>
  found === operation ? Effect.sleep(duration) : Effect.void
