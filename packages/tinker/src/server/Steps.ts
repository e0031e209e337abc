/** Steps of a queue, each of which may lead to further ones. */
import * as Effect from "effect/Effect"

/**
 * Takes steps until one finds nothing to do and returns false. A call from within a step returns at once, and the running loop takes the
 * next step: thousands of nested steps would exceed the stack.
 */
export const oneByOne = (step: () => boolean): Effect.Effect<void> => {
  let isUnderWay = false
  return Effect.sync(() => {
    if (isUnderWay) return
    isUnderWay = true
    let hasMore = true
    while (hasMore) hasMore = step()
    isUnderWay = false
  })
}
