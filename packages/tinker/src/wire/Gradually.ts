/** Work over many data that lets the requests of other callers in between. */
import * as Effect from "effect/Effect"

/** Tokens whose data are read or written in a few milliseconds. */
const mostTokens = 16_384

/** As `Effect.forEach`, with a pause after every 16,384 tokens, as `tokensOf` counts them. */
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
