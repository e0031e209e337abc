/**
 * What a run's records say of its schedule. A resumed run makes the updates that they tell of again, of the same groups.
 *
 * @example
 * const groupsOf = Effect.map(RecordedSchedule.read, ({ updates }) => updates.get(3)?.trained)
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RunRecord from "../records/RunRecord.ts"
import { type RunError, RunStore } from "../records/RunStore.ts"
import * as GroupRecords from "../run/GroupRecords.ts"
import * as Segments from "../run/Segments.ts"
import * as RecordedGroups from "./RecordedGroups.ts"
import type { Group, Update } from "./RecordedGroups.ts"
import * as RecordedWeights from "./RecordedWeights.ts"

export type { Group, Span, Update } from "./RecordedGroups.ts"

export interface RecordedSchedule {
  readonly updates: ReadonlyMap<number, Update>
  readonly groups: ReadonlyMap<string, Group>
}

/** Reads the schedule from a run's story and what was abandoned after it. */
export const of = (records: ReadonlyArray<RunRecord.RunRecord>): RecordedSchedule => {
  const { begun, credited, groups, rolledOut, updates } = RecordedGroups.make(GroupRecords.isGivenUp(records))
  const { iterations, stepsAt, updated } = RecordedWeights.make()
  let done = 0

  for (const record of records) {
    if (record._tag === "Opened") done = record.iteration
    if (record._tag === "Sampling") begun(record)
    if (record._tag === "GroupRolledOut" && record.evaluator === undefined) {
      const began = iterations.get(record.step) ?? done
      // Beginnings are recorded at the end of an iteration, so an unrecorded group began in this one if it has the iteration's weights.
      rolledOut(record, { began, ended: done }, stepsAt(done) === record.step ? done : began)
    }
    if (record._tag === "Credited") credited(record)
    if (record._tag === "Updated") {
      done = record.iteration + 1
      updated(record)
    }
  }
  return { updates, groups }
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
