/** Which groups an iteration's update takes: by the rules of the schedule, or those of a recorded update again. */
import * as Effect from "effect/Effect"
import type * as Outstanding from "./Outstanding.ts"
import type * as RecordedSchedule from "./RecordedSchedule.ts"
import * as Schedule from "./Schedule.ts"
import type * as UpdateSize from "./UpdateSize.ts"

export interface Options<E, R> {
  readonly rules: Schedule.Rules
  readonly recorded: RecordedSchedule.RecordedSchedule
  readonly now: Outstanding.Tracker["now"]
  readonly size: UpdateSize.UpdateSize<E, R>
}

export const make = <E, R>({ now, recorded, rules, size }: Options<E, R>) => {
  /** The iteration whose update is complete. */
  let complete = -1

  /** The iteration's update as it was recorded: it is made of the same groups again. */
  const planned = () => recorded.updates.get(now().iteration)

  const collecting = Effect.map(size.size, (count): Schedule.Collecting<Outstanding.Ended> => {
    const { ended, inFlight, iteration, taken } = now()
    return { iteration, inFlight: [...inFlight.values()], ended, places: count - taken, size: size.later }
  })

  const endedAs = (name: string | undefined) => now().ended.find((group) => Schedule.nameOf(group) === name)

  const allOf = (names: ReadonlyArray<string>) => {
    const groups = names.flatMap((name) => endedAs(name) ?? [])
    return groups.length === names.length ? groups : undefined
  }

  return {
    isPlanned: () => planned() !== undefined,
    /** All groups of the update; undefined until they have ended. */
    all: Effect.gen(function*() {
      const plan = planned()
      return plan === undefined ? rules.batch(yield* collecting) : allOf(plan.trained)
    }),
    /** The update's next group; undefined until it has ended. */
    next: Effect.gen(function*() {
      const plan = planned()
      return plan === undefined ? rules.next(yield* collecting) : endedAs(plan.trained[now().taken])
    }),
    /** Groups on their way for which no place was left are the next update's, also where they end before this one is made. */
    isComplete: Effect.gen(function*() {
      const { iteration, taken } = now()
      const plan = planned()
      if (plan !== undefined) return taken === plan.trained.length
      const isFull = taken === (yield* size.size) && rules.batch(yield* collecting) !== undefined
      if (isFull) complete = iteration
      return complete === iteration
    }),
    /** Groups put aside, which the record of the update names; undefined until they are known. */
    aside: () => {
      const { aside, inFlight } = now()
      const names = planned()?.aside
      if (names === undefined) return aside.toSorted((one, other) => Schedule.inDatasetOrder(one.group, other.group))
      const asideAs = (name: string) => aside.find(({ group }) => Schedule.nameOf(group) === name)
      return names.some((name) => inFlight.has(name)) ? undefined : names.flatMap((name) => asideAs(name) ?? [])
    }
  }
}
