/** Reads a resumed run's records for its schedule: the updates to repeat, and the groups that need not be sampled again. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Key from "../../records/Key.ts"
import * as RunRecord from "../../records/RunRecord.ts"
import { type RunError, RunStore } from "../../records/RunStore.ts"
import * as GroupRecords from "../../run/GroupRecords.ts"
import * as Segments from "../../run/Segments.ts"

/** A group, and the number of iterations that its first weights were trained for. */
export interface Group {
  readonly batch: number
  readonly key: string
  readonly began: number
}

/** A group that ended, and the number of iterations finished by then. */
export interface Ended extends Group {
  readonly ended: number
}

/** A group that was set aside; `ended` is undefined if it was abandoned before it ended. */
export interface Aside extends Group {
  readonly ended: number | undefined
  readonly verdict: "filtered" | "stale"
}

/** The groups that an update trained on, in order, and the groups that it set aside. */
export interface Update {
  readonly trained: ReadonlyArray<Ended>
  readonly aside: ReadonlyArray<Aside>
}

export interface Replay {
  /** The recorded updates from the resumed iteration on, without gaps. */
  readonly updates: ReadonlyMap<number, Update>
  /** Groups that have ended but are in no recorded update. */
  readonly ended: ReadonlyArray<Ended>
}

const nameOf = ({ batch, key }: Group) => Key.ofGroup({ iteration: batch, key })

const told = (iteration: number, credit: RunRecord.Credited["groups"][number]): Ended => {
  const { inFlight, inQueue } = credit.staleness ?? { inFlight: 0, inQueue: 0 }
  const ended = iteration - inQueue
  return { batch: credit.iteration ?? iteration, key: credit.key, began: ended - inFlight, ended }
}

const updateOf = ({ groups, iteration }: RunRecord.Credited): Update => {
  const trained: Array<Ended> = []
  const aside: Array<Aside> = []
  for (const credit of groups) {
    const group = told(iteration, credit)
    const { verdict } = credit
    // A group that ended in this iteration cannot become stale in it, so a stale group without an earlier end was abandoned before it
    // ended.
    if (verdict === "stale") {
      aside.push({ ...group, verdict, ended: group.ended === iteration ? undefined : group.ended })
    } else if (verdict === "filtered") aside.push({ ...group, verdict })
    else trained.push(group)
  }
  return { trained, aside }
}

/** The records that are relevant after `opened`: those that the run continues, and the abandoned ones after them. */
const before = (records: ReadonlyArray<RunRecord.RunRecord>, opened: RunRecord.Opened) => {
  const { continuesAfter, identity, sequence: end } = opened
  const own = Segments.of(records, identity).filter(({ sequence }) => sequence < end)
  const kept = RunRecord.current(own).filter(({ sequence }) => sequence <= continuesAfter)
  return [...kept, ...own.filter(({ sequence }) => sequence > continuesAfter)]
}

/**
 * Reads the records of a run up to its latest opening. After a failed run, groups that lost members and were not trained on are not reused.
 */
export const of = (records: ReadonlyArray<RunRecord.RunRecord>): Replay => {
  const opened = records.findLast(RunRecord.guards.Opened)
  const told = opened === undefined ? [] : before(records, opened)
  const isGivenUp = GroupRecords.isGivenUp(told)
  const ended = new Map<string, Ended>()
  const updates = new Map<number, Update>()
  for (const record of told) {
    if (record._tag === "GroupRolledOut" && record.evaluator === undefined && !isGivenUp(record)) {
      const { began = record.iteration, ended: end = record.iteration, iteration: batch, key } = record
      const group = { batch, key, began, ended: end }
      ended.set(nameOf(group), group)
    }
    if (record._tag === "Credited") updates.set(record.iteration, updateOf(record))
  }
  for (const { aside, trained } of updates.values()) {
    for (const group of [...trained, ...aside]) ended.delete(nameOf(group))
  }
  const from = opened?.iteration ?? 0
  const following = new Map<number, Update>()
  for (let next = from, update = updates.get(next); update !== undefined; update = updates.get(++next)) {
    following.set(next, update)
  }
  return { updates: following, ended: [...ended.values()] }
}

/** Reads the replay from the store's records. */
export const read: Effect.Effect<Replay, RunError, RunStore> = Effect.gen(function*() {
  return of(yield* Stream.runCollect((yield* RunStore).read))
})
