/** Groups that have begun and that a run is not done with: on their way, waiting for an update, or put aside. */
import type { Usage } from "../records/Usage.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Schedule from "./Schedule.ts"

/** A group that ended, with what became of it. */
export interface Ended extends Schedule.Ended {
  readonly result: GroupResult
  /** Tokens that count for the iteration whose update takes the group, or tells that it was put aside. */
  readonly usage: Usage
}

/** A group that takes no place in an update, and why. A stale one may not have ended. */
export interface Aside {
  readonly group: Schedule.Begun & Partial<Ended>
  readonly verdict: "filtered" | "stale"
}

/** The groups while an iteration collects its own. */
export interface Outstanding {
  readonly iteration: number
  readonly inFlight: ReadonlyMap<string, Schedule.Begun>
  /** In the order in which they ended. */
  readonly ended: ReadonlyArray<Ended>
  readonly aside: ReadonlyArray<Aside>
  /** Groups of the iteration's update, which keep their places until newer weights are published. */
  readonly taken: number
  /** Groups that were filtered since then. */
  readonly filtered: number
}

/** The groups from one moment to the next. `settle` hears of those that the run is done with. */
export const make = (iteration: number, settle: (group: Schedule.Ticket) => void) => {
  const inFlight = new Map<string, Schedule.Begun>()
  let now: Outstanding = { iteration, inFlight, ended: [], aside: [], taken: 0, filtered: 0 }

  const change = (changed: Partial<Outstanding>) => {
    now = { ...now, ...changed }
  }

  /** A group may have been filtered in an earlier iteration, by a run that was then resumed. */
  const putAside = (group: Aside["group"], verdict: Aside["verdict"]) => {
    const isNew = verdict === "filtered" && group.ended === now.iteration
    change({ aside: [...now.aside, { group, verdict }], filtered: now.filtered + (isNew ? 1 : 0) })
  }

  return {
    now: () => now,
    /** Newer weights are there. */
    goOn: (iteration: number) => change({ iteration, taken: 0, filtered: 0 }),
    begin: (group: Schedule.Begun) => {
      inFlight.set(Schedule.nameOf(group), group)
    },
    /** False where it has been dropped on its way. */
    arrive: (group: Schedule.Ticket) => inFlight.delete(Schedule.nameOf(group)),
    wait: (group: Ended) => change({ ended: [...now.ended, group] }),
    putAside,
    /** Drops groups; returns the names of those that were on their way. */
    drop: (isStale: (group: Schedule.Begun) => boolean) => {
      const stale = Array.from(inFlight).filter(([, group]) => isStale(group))
      for (const group of now.ended.filter(isStale)) putAside(group, "stale")
      change({ ended: now.ended.filter((group) => !isStale(group)) })
      for (const [name, group] of stale) {
        inFlight.delete(name)
        putAside(group, "stale")
      }
      return stale.map(([name]) => name)
    },
    /** Takes groups for the iteration's update. */
    take: (groups: ReadonlyArray<Ended>) => {
      change({ ended: now.ended.filter((group) => !groups.includes(group)), taken: now.taken + groups.length })
      groups.forEach(settle)
    },
    /** Takes groups that were put aside for the record of the iteration's update: a run is done with a group when its records say what became of it. */
    takeAside: (due: ReadonlyArray<Aside>) => {
      change({ aside: now.aside.filter((one) => !due.includes(one)) })
      for (const { group } of due) settle(group)
    }
  }
}

export type Tracker = ReturnType<typeof make>
