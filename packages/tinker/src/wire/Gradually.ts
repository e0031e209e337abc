/** Processes large data in steps, so other callers' requests run in between. */
import * as Effect from "effect/Effect"

/** Number of tokens that are processed in a few milliseconds. */
const mostTokens = 16_384

/** Like `Effect.forEach`, but yields after every 16,384 tokens, as counted by `tokensOf`. */
export const forEach = <A, B, E, R>(
  all: ReadonlyArray<A>,
  tokensOf: (one: A) => number,
  each: (one: A, index: number) => Effect.Effect<B, E, R>
): Effect.Effect<Array<B>, E, R> =>
  Effect.suspend(() => {
    let left = mostTokens
    return Effect.forEach(all, (one, index) => {
      if (left > 0) {
        left -= tokensOf(one)
        return each(one, index)
      }
      left = mostTokens - tokensOf(one)
      return Effect.andThen(Effect.yieldNow, Effect.suspend(() => each(one, index)))
    })
  })
