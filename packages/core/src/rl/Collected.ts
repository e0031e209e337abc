/** The groups of one update, collected as they end. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Program from "../run/Program.ts"
import * as GroupQueue from "./GroupQueue.ts"
import type * as Schedule from "./Schedule.ts"
import type * as Staleness from "./Staleness.ts"

/** The groups of one update, and where the run goes on after it. */
export interface Collected extends Staleness.Aged {
  readonly _tag: "Collected"
  /** The record of groups that have begun since the last one. */
  readonly begun: ReadonlyArray<Program.Note>
  readonly seconds: number
  readonly position: Schedule.Position
}

/** What is emitted, and whether it is the last of its iteration. */
type Next = readonly [Program.Progress | Collected, boolean]

/** Begins groups with the newest weights: an element whenever a group has ended, and the update's groups when they are there. */
export const collect = <E, R>(queue: GroupQueue.GroupQueue<E, R>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    yield* queue.publish(iteration)
    if (yield* queue.isOver) return Stream.empty
    const begun = Effect.map(queue.wave, (wave) => GroupQueue.begun(iteration, wave))
    const progress = Effect.map(begun, (notes) => Program.progress(...notes))
    const collected = Effect.fnUntraced(function*(groups: ReadonlyArray<GroupQueue.Ended>) {
      const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
      const collected: Collected = {
        _tag: "Collected",
        iteration,
        groups,
        aside: yield* queue.aside,
        begun: yield* begun,
        seconds,
        position: queue.position()
      }
      return collected
    })
    const next = Effect.gen(function*(): Effect.fn.Return<Next, GroupQueue.Error<E>, R> {
      yield* queue.begin
      const groups = yield* queue.takeAll
      if (groups !== undefined) return [yield* collected(groups), true]
      yield* queue.changed
      return [yield* progress, false]
    })
    return Stream.concat(
      Stream.fromEffect(progress),
      Stream.unfold(false, (isTaken) => isTaken ? Effect.undefined : next)
    )
  }))
