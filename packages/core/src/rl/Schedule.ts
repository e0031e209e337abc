/**
 * When groups begin, and which are trained on next, where sampling goes on during training.
 *
 * @example
 * const groupsOf = Effect.map(Schedule.read, ({ batches }) => batches.get(3))
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Signal from "../learn/Signal.ts"
import * as RunRecord from "../record/RunRecord.ts"
import { type RunError, RunStore } from "../record/RunStore.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as GroupRecords from "../run/GroupRecords.ts"
import type * as Pace from "./Pace.ts"

/** A group of the dataset: the batch it is of, and its place there. */
export interface Ticket {
  readonly batch: number
  readonly position: number
  readonly key: string
}

/** A group on its way, and how many iterations were behind the weights that it was begun with. */
export interface Begun extends Ticket {
  readonly began: number
}

/** A group that waits for its update, and how many iterations were done when it ended. */
export interface Ended extends Begun {
  readonly ended: number
}

/** An iteration that collects its groups, and the groups that are not trained on yet. */
export interface Collecting<G extends Ended = Ended> {
  readonly iteration: number
  readonly inFlight: ReadonlyArray<Begun>
  /** In the order in which they ended. */
  readonly ended: ReadonlyArray<G>
  /** Groups that its update still has room for. */
  readonly places: number
  /** Groups of a later iteration's update. */
  readonly size: (iteration: number) => number
}

/**
 * The rules of a schedule. The age of a group is the number of iterations between the weights that it was begun with and those that
 * train on it.
 */
export interface Rules {
  /** While `iteration` collects its groups, as many may be on their way or waiting as it and the iterations before this one have. */
  readonly horizon: (iteration: number) => number
  /** Whether a group makes room for another one without being trained on. */
  readonly isFiltered: (result: GroupResult.GroupResult) => boolean
  /** Whether a group is too old for the update of `iteration` and of all later ones. */
  readonly isStale: (group: Begun, iteration: number) => boolean
  /** The groups that fill the update's places together; undefined while it has to wait. */
  readonly batch: <G extends Ended>(collecting: Collecting<G>) => ReadonlyArray<G> | undefined
  /** The group that takes the next of the update's places; undefined while it has to wait. */
  readonly next: <G extends Ended>(collecting: Collecting<G>) => G | undefined
}

const inDatasetOrder = (left: Ticket, right: Ticket) => left.batch - right.batch || left.position - right.position

/** The rules of a pace, for a run of `until` iterations. */
export const rules = (
  { maxStepsOffPolicy, onStale, removeConstantRewardGroups }: Pace.Resolved,
  until: number
): Rules => {
  /**
   * Whether each group that is left finds a place in an update that it is not too old for, `places` of which are in this iteration's.
   * Where groups are waited for, no place may be given away that a group on its way will need.
   */
  const leavesRoom = (left: ReadonlyArray<Begun>, { iteration, size }: Collecting, places: number) => {
    let room = places
    for (let last = iteration; last <= iteration + maxStepsOffPolicy; last++) {
      if (last > iteration) room += size(last)
      if (left.filter(({ began }) => began + maxStepsOffPolicy <= last).length > room) return false
    }
    return true
  }

  const maySpare = <G extends Ended>(collecting: Collecting<G>, taken: ReadonlyArray<G>) => {
    const { ended, inFlight, places } = collecting
    if (onStale !== "wait") return true
    const left = [...inFlight, ...ended.filter((group) => !taken.includes(group))]
    return leavesRoom(left, collecting, places - taken.length)
  }

  return {
    horizon: (iteration) => Math.min(iteration + maxStepsOffPolicy + 1, until),
    isFiltered: (result) =>
      removeConstantRewardGroups && (GroupResult.isSkipped(result) || !Signal.isInformative(result)),
    isStale: ({ began }, iteration) => onStale === "drop" && iteration - began > maxStepsOffPolicy,
    batch: (collecting) => {
      const { ended, places } = collecting
      if (ended.length < places) return undefined
      const oldest = ended.toSorted((left, right) => left.began - right.began).slice(0, places)
      return maySpare(collecting, oldest) ? oldest.sort(inDatasetOrder) : undefined
    },
    next: (collecting) => collecting.ended.find((group) => maySpare(collecting, [group]))
  }
}

/** Where a run is in its dataset: the first group that it is not done with, and the groups after it that it is done with. */
export const Position = Schema.Struct({
  batch: Schema.Int,
  position: Schema.Int,
  done: Schema.Array(Schema.Struct({ batch: Schema.Int, position: Schema.Int }))
})
export interface Position extends Schema.Schema.Type<typeof Position> {}

/** Where a run goes on: its next iteration, its place in the dataset, and what its credit remembers. */
export const Cursor = Schema.Struct({ iteration: Schema.Int, groups: Position, credit: Schema.Json })
export interface Cursor extends Schema.Schema.Type<typeof Cursor> {}

/** The beginning of a run. */
export const start: Cursor = { iteration: 0, groups: { batch: 0, position: 0, done: [] }, credit: null }

/** A group's name: keys are unique within a batch. */
export const nameOf = (batch: number, key: string) => JSON.stringify([batch, key])

/** When a group began and ended, in iterations done. */
export interface Span {
  readonly began: number
  readonly ended: number
}

/** What a run's records say of its schedule. */
export interface Recorded {
  /** Names of the groups that an iteration trained on, in order. */
  readonly batches: ReadonlyMap<number, ReadonlyArray<string>>
  /** When groups that have ended began and ended. */
  readonly ended: ReadonlyMap<string, Span>
  /** The first iteration with weights of so many optimizer steps. */
  readonly iterations: ReadonlyMap<number, number>
}

/**
 * Reads the schedule from a run's story. A group may have ended before its beginning was recorded: then its weights say when it
 * began.
 */
export const recorded = (story: ReadonlyArray<RunRecord.RunRecord>): Recorded => {
  const batches = new Map<number, ReadonlyArray<string>>()
  const began = new Map<string, number>()
  const ended = new Map<string, Span>()
  const isGivenUp = GroupRecords.isGivenUp(story)
  const iterations = new Map([[0, 0]])
  let steps = 0
  let done = 0
  for (const record of story) {
    if (record._tag === "Sampling") {
      for (const group of record.begun ?? []) {
        const name = nameOf(group.iteration, group.key)
        began.set(name, group.began)
        const over = group.ended ?? ended.get(name)?.ended
        if (over !== undefined) ended.set(name, { began: group.began, ended: over })
      }
    }
    if (record._tag === "Updated") {
      done = record.iteration + 1
      steps += record.updates.length
      if (!iterations.has(steps)) iterations.set(steps, done)
    }
    if (record._tag === "GroupRolledOut" && record.evaluator === undefined && !isGivenUp(record)) {
      const name = nameOf(record.iteration, record.key)
      const isKnown = record.recalled !== undefined && ended.has(name)
      if (!isKnown) ended.set(name, { began: began.get(name) ?? iterations.get(record.step) ?? done, ended: done })
    }
    if (record._tag === "Credited") {
      const trained = record.groups.filter(({ verdict }) => verdict !== "filtered" && verdict !== "stale")
      for (const { iteration = record.iteration, key, staleness } of record.groups) {
        if (staleness === undefined) continue
        const at = record.iteration - staleness.inQueue
        ended.set(nameOf(iteration, key), { began: at - staleness.inFlight, ended: at })
      }
      batches.set(
        record.iteration,
        trained.map(({ iteration = record.iteration, key }) => nameOf(iteration, key))
      )
    }
  }
  return { batches, ended, iterations }
}

const nothing: Recorded = { batches: new Map(), ended: new Map(), iterations: new Map() }

/** The schedule of the run that the store holds, as far as it had come when it was opened last. */
export const read: Effect.Effect<Recorded, RunError, RunStore> = Effect.gen(function*() {
  const records = yield* Stream.runCollect((yield* RunStore).read)
  const last = records.findLastIndex(RunRecord.guards.Opened)
  const before = records.slice(0, last)
  const isSame = (record: RunRecord.RunRecord | undefined) =>
    record?._tag === "Opened" &&
    JSON.stringify(record.identity) === JSON.stringify(before.findLast(RunRecord.guards.Opened)?.identity)
  return isSame(records[last]) ? recorded(RunRecord.current(before)) : nothing
})
