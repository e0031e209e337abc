/** The groups of an iteration's update in parts, each taken as soon as its groups have ended. */
import * as Effect from "effect/Effect"
import type * as GroupQueue from "./GroupQueue.ts"

export const make = <E, R>(queue: GroupQueue.GroupQueue<E, R>, parts: number) => {
  let taken = 0

  return {
    /** Fewer than the part's share of a whole update where that is complete before: the parts depend on the number of its groups alone. */
    take: Effect.fnUntraced(function*(part: number) {
      const groups: Array<GroupQueue.Ended> = []
      const until = Math.trunc(((part + 1) * (yield* queue.whole)) / parts)
      while (taken < until && !(yield* queue.isComplete)) {
        const group = yield* queue.takeNext
        if (group === undefined) {
          yield* queue.begin
          yield* queue.changed
        } else {
          groups.push(group)
          taken++
        }
      }
      return groups
    })
  }
}
