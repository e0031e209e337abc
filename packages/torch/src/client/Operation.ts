/** Names the failed call in errors. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** Adds the name of a call to the failure reasons of its parts. */
export const named = (operation: string) =>
  Effect.mapError((reason: TinkerError.Reason) => new TinkerError.TinkerError({ operation, reason }))
