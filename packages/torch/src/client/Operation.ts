/** Names the failed call in errors. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** Wraps a failure reason in a `TinkerError` that names the operation. */
export const named = (operation: string) =>
  Effect.mapError((reason: TinkerError.Reason) => new TinkerError.TinkerError({ operation, reason }))
