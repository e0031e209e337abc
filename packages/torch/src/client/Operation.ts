/** The name of a call, which its errors carry. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** Adds the name of a call to the reasons that its parts fail with. */
export const named = (operation: string) =>
  Effect.mapError((reason: TinkerError.Reason) => new TinkerError.TinkerError({ operation, reason }))
