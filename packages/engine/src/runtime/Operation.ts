/** The name of a call, which its errors carry. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** What is inside a call fails with a reason alone. */
export const named = (operation: string) =>
  Effect.mapError((reason: TinkerError.Reason) => new TinkerError.TinkerError({ operation, reason }))
