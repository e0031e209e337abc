/** Extracts an input's tokens. The engine's models accept only text. */
import { TinkerError } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"

export const tokens = (input: ModelInput.ModelInput): Effect.Effect<Int32Array, TinkerError.Unsupported> =>
  Effect.mapError(
    ModelInput.toTokens(input),
    (error) => new TinkerError.Unsupported({ capability: "images", detail: error.message })
  )
