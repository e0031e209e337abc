/**
 * What a run's records say of its schedule. A resumed run makes the updates that they tell of again, of the same groups.
 *
 * @example
 * const groupsOf = Effect.map(RecordedSchedule.read, ({ updates }) => updates.get(3)?.trained)
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RunRecord from "../record/RunRecord.ts"
import { type RunError, RunStore } from "../record/RunStore.ts"
import * as GroupRecords from "../run/GroupRecords.ts"
import * as Segments from "../run/Segments.ts"
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

export interface RecordedSchedule {
  readonly updates: ReadonlyMap<number, Update>
  readonly groups: ReadonlyMap<string, Group>
  /** The first iteration with weights of so many optimizer steps. */
  readonly iterations: ReadonlyMap<number, number>
}

type Credit = RunRecord.Credited["groups"][number]

const fateOf = ({ staleness, verdict }: Credit): NonNullable<Group["fate"]> => {
  if (verdict === "filtered") return verdict
  if (verdict === "stale") return staleness?.inQueue === 0 ? "abandoned" : verdict
  return "trained"
}

/** Weights by the optimizer steps behind them, while the records of iterations are read, some of them several times. */
const weightsOf = () => {
  const steps = new Map([[0, 0]])
  const iterations = new Map([[0, 0]])
  const add = ({ iteration, updates }: RunRecord.Updated) => {
    const after = (steps.get(iteration) ?? 0) + updates.length
    steps.set(iteration + 1, after)
    if (!iterations.has(after)) iterations.set(after, iteration + 1)
  }
  return { iterations, add }
}

/**
 * Reads the schedule from a run's story and what was abandoned after it. A group may have ended before its beginning was recorded: then
 * its weights say when it began.
 */
export const of = (records: ReadonlyArray<RunRecord.RunRecord>): RecordedSchedule => {
  const updates = new Map<number, Update>()
  const groups = new Map<string, Group>()
  const weights = weightsOf()
  const isGivenUp = GroupRecords.isGivenUp(records)
  const givenUp = new Set<string>()
  let done = 0

  const rolledOut = (record: RunRecord.GroupRolledOut) => {
    const name = Schedule.nameOf({ batch: record.iteration, key: record.key })
    const known = groups.get(name)
    const began = Math.max(known?.began ?? 0, weights.iterations.get(record.step) ?? done)
    if (isGivenUp(record)) givenUp.add(name)
    else if (record.recalled === undefined || known?.ended === undefined) groups.set(name, { began, ended: done })
  }

  const credited = ({ groups: credits, iteration }: RunRecord.Credited) => {
    const named = credits.map((credit) => ({
      name: Schedule.nameOf({ batch: credit.iteration ?? iteration, key: credit.key }),
      fate: fateOf(credit),
      ended: iteration - (credit.staleness?.inQueue ?? 0),
      inFlight: credit.staleness?.inFlight ?? 0
    }))
    for (const { ended, fate, inFlight, name } of named) {
      const began = ended - inFlight
      groups.set(name, givenUp.has(name) ? { began, fate } : { began, ended, fate })
    }
    const isTrained = ({ fate }: typeof named[number]) => fate === "trained"
    updates.set(iteration, {
      trained: named.filter(isTrained).map(({ name }) => name),
      aside: named.filter((group) => !isTrained(group)).map(({ name }) => name)
    })
  }

  for (const record of records) {
    if (record._tag === "Opened") done = record.iteration
    if (record._tag === "GroupRolledOut" && record.evaluator === undefined) rolledOut(record)
    if (record._tag === "Credited") credited(record)
    if (record._tag === "Updated") {
      done = record.iteration + 1
      weights.add(record)
    }
    if (record._tag === "Sampling") {
      for (const { iteration: batch, key, ...span } of record.begun ?? []) {
        const name = Schedule.nameOf({ batch, key })
        groups.set(name, { ...groups.get(name), ...span })
      }
    }
  }
  return { updates, groups, iterations: weights.iterations }
}

/** The schedule of the run that the store holds, as far as it had come when it was opened last. */
export const read: Effect.Effect<RecordedSchedule, RunError, RunStore> = Effect.gen(function*() {
  const records = yield* Stream.runCollect((yield* RunStore).read)
  const opened = records.findLast(RunRecord.guards.Opened)
  if (opened === undefined) return of([])
  const before = Segments.of(records, opened.identity).filter(({ sequence }) => sequence < opened.sequence)
  const kept = RunRecord.current(before).filter(({ sequence }) => sequence <= opened.continuesAfter)
  return of([...kept, ...before.filter(({ sequence }) => sequence > opened.continuesAfter)])
})
