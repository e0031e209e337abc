/** Steps of a queue, each of which may lead to further ones. */
import * as Effect from "effect/Effect"

/**
 * Takes steps until one finds nothing to do and gives false. A step within which the same is asked for again leaves it to the loop that
 * it belongs to: thousands in a row that each led to the next within themselves would exceed the stack.
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
