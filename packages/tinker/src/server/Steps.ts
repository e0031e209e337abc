/** Runs queue steps, each of which may trigger further ones. */
import * as Effect from "effect/Effect"

/**
 * Repeats `step` until it returns false. A call from within a step returns immediately and lets the running loop take the next step,
 * because thousands of nested steps would overflow the stack.
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
