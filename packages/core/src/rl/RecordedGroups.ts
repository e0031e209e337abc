/** What a run's records say of its groups: when they began and ended, and what became of them. */
import type * as RunRecord from "../records/RunRecord.ts"
import * as Schedule from "./Schedule.ts"

/** When a group began and ended, in iterations done; one that was put aside on its way ended then. */
export interface Span {
  readonly began: number
  readonly ended: number
}

/** A group that has begun. */
export interface Group {
  readonly began: number
  /** Absent where it was still on its way: it then begins anew. */
  readonly ended?: number
  /** What became of it, where an update told: an abandoned group was too old before it ended. */
  readonly fate?: "trained" | "filtered" | "stale" | "abandoned"
}

/** What an update was made of, by the groups' names. */
export interface Update {
  /** In the order in which they were trained on. */
  readonly trained: ReadonlyArray<string>
  /** Groups that it told of and did not train on. */
  readonly aside: ReadonlyArray<string>
}

const fateOf = (
  { staleness, verdict }: RunRecord.Credited["groups"][number]
): NonNullable<Group["fate"]> => {
  if (verdict === "filtered") return verdict
  if (verdict === "stale") return staleness?.inQueue === 0 ? "abandoned" : verdict
  return "trained"
}

/** What an update told of each of its groups. */
const told = ({ groups, iteration }: RunRecord.Credited) =>
  groups.map((credit) => {
    const { inFlight, inQueue } = credit.staleness ?? { inFlight: 0, inQueue: 0 }
    const name = Schedule.nameOf({ batch: credit.iteration ?? iteration, key: credit.key })
    const ended = iteration - inQueue
    return { name, group: { began: ended - inFlight, ended, fate: fateOf(credit) } }
  })

/** Collects groups while the records are read in their order. A group that was given up has not ended: it begins anew. */
export const make = (isGivenUp: (record: RunRecord.GroupRolledOut) => boolean) => {
  const groups = new Map<string, Group>()
  const updates = new Map<number, Update>()
  const givenUp = new Set<string>()

  return {
    groups,
    updates,
    begun: ({ begun = [] }: RunRecord.Sampling) => {
      for (const { iteration: batch, key, ...span } of begun) {
        const name = Schedule.nameOf({ batch, key })
        groups.set(name, { ...groups.get(name), ...span })
      }
    },
    /** Notes a group that ended within `span`. It began at `unrecorded` if no record tells its beginning. */
    rolledOut: (record: RunRecord.GroupRolledOut, span: Span, unrecorded: number) => {
      const name = Schedule.nameOf({ batch: record.iteration, key: record.key })
      const known = groups.get(name)
      if (isGivenUp(record)) givenUp.add(name)
      else if (record.recalled === undefined || known?.ended === undefined) {
        groups.set(name, { ...span, began: known === undefined ? unrecorded : Math.max(known.began, span.began) })
      }
    },
    credited: (record: RunRecord.Credited) => {
      const credits = told(record)
      for (const { group: { ended, ...group }, name } of credits) {
        groups.set(name, givenUp.has(name) ? group : { ...group, ended })
      }
      const isTrained = ({ group }: typeof credits[number]) => group.fate === "trained"
      updates.set(record.iteration, {
        trained: credits.filter(isTrained).map(({ name }) => name),
        aside: credits.filter((credit) => !isTrained(credit)).map(({ name }) => name)
      })
    }
  }
}
