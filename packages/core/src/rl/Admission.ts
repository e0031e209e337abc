/** Which groups of the dataset begin, and when. */
import * as Effect from "effect/Effect"
import type * as Outstanding from "./Outstanding.ts"
import type * as RecordedSchedule from "./RecordedSchedule.ts"
import * as Schedule from "./Schedule.ts"
import type * as Tickets from "./Tickets.ts"
import type * as UpdateSize from "./UpdateSize.ts"

/** A group that begins; the records may say when it began and ended before. */
export type Admitted<E, R> = Tickets.Upcoming<E, R> & Schedule.Begun & Partial<RecordedSchedule.Span>

export interface Options<E, R> {
  readonly tickets: Tickets.Tickets<E, R>
  readonly rules: Schedule.Rules
  readonly recorded: RecordedSchedule.RecordedSchedule
  readonly outstanding: Outstanding.Tracker
  readonly size: UpdateSize.UpdateSize<E, R>
  readonly concurrency: number
}

export const make = <E, R>({ concurrency, outstanding, recorded, rules, size, tickets }: Options<E, R>) => {
  const { now } = outstanding
  let toBegin: ReadonlyArray<Admitted<E, R>> = []
  let toRecord: ReadonlyArray<Admitted<E, R>> = []

  const recordOf = (group: Schedule.Ticket) => recorded.groups.get(Schedule.nameOf(group))

  /** False where the dataset is used up. */
  const admitNext = Effect.gen(function*() {
    const upcoming = yield* tickets.take
    if (upcoming === undefined) return false
    const { iteration } = now()
    const { began = iteration, ended, fate } = recordOf(upcoming) ?? {}
    const admitted = { ...upcoming, ...(ended === undefined ? { began: iteration } : { began, ended }) }
    toRecord = [...toRecord, admitted]
    if (fate === "abandoned" && rules.isStale(admitted, iteration)) outstanding.putAside(admitted, "stale")
    else {
      outstanding.begin(admitted)
      toBegin = [...toBegin, admitted]
    }
    return true
  })

  /** Admits as many groups as there is room for. */
  const admit = Effect.gen(function*() {
    const room = yield* size.room
    const hasRoom = () => {
      const { ended, inFlight, taken } = now()
      return inFlight.size < concurrency && inFlight.size + ended.length + taken < room
    }
    while (hasRoom() && (yield* admitNext));
  })

  /** The groups that had begun by the update when it was recorded, whether or not there is room. */
  const admitRecorded = Effect.fnUntraced(function*({ trained }: RecordedSchedule.Update) {
    const { ended, inFlight, iteration } = now()
    const waiting = new Set(ended.map(Schedule.nameOf))
    const isThere = (name: string) => inFlight.has(name) || waiting.has(name)
    const hasBegun = (group: Schedule.Ticket) => (recordOf(group)?.began ?? Infinity) <= iteration
    while (true) {
      const next = yield* tickets.peek
      if (next === undefined || (!hasBegun(next) && trained.every(isThere))) return
      yield* admitNext
    }
  })

  const planned = () => recorded.updates.get(now().iteration)

  return {
    /** Newer weights are there. */
    renew: Effect.suspend(() => {
      const plan = planned()
      return plan === undefined ? admit : admitRecorded(plan)
    }),
    /** A group has ended. */
    replace: Effect.suspend(() => planned() === undefined ? admit : Effect.void),
    /** Groups to begin. One that had ended is not asked for before the iteration in which it did. */
    due: () => {
      const { inFlight, iteration } = now()
      const isDue = ({ ended = iteration }: Admitted<E, R>) => ended <= iteration
      const groups = toBegin.filter((group) => inFlight.has(Schedule.nameOf(group)))
      toBegin = groups.filter((group) => !isDue(group))
      return groups.filter(isDue)
    },
    /** Groups that were not returned before. */
    wave: () => {
      const groups = toRecord
      toRecord = []
      return groups
    }
  }
}
