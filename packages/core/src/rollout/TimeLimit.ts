/** Time limits of effects. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { RolloutError } from "./RolloutError.ts"

/** Fails an effect that takes longer as `TimedOut`, with an error that names the limit; without a limit the effect is unchanged. */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Input | undefined,
  late: (limit: string) => RolloutError
): Effect.Effect<A, E | { readonly _tag: "TimedOut"; readonly error: RolloutError }, R> =>
  limit === undefined ? effect : Effect.timeoutOrElse(effect, {
    duration: limit,
    orElse: () =>
      Effect.fail({ _tag: "TimedOut", error: late(Duration.format(Duration.fromInputUnsafe(limit))) } as const)
  })
