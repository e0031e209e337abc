/** When groups begin, and which are trained on next, where sampling goes on during training. */
import * as Schema from "effect/Schema"
import * as Signal from "../learn/Signal.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
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
  /**
   * The group that takes the next of the update's places; undefined while it has to wait. Where no group is begun ahead, groups take their
   * places in the dataset's order, so that one seed gives one run; otherwise as they end.
   */
  readonly next: <G extends Ended>(collecting: Collecting<G>) => G | undefined
}

/** Batches one after the other, and their groups as the dataset gives them. */
export const inDatasetOrder = (left: Ticket, right: Ticket) =>
  left.batch - right.batch || left.position - right.position

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
    next: (collecting) => {
      const { ended, inFlight } = collecting
      if (maxStepsOffPolicy > 0) return ended.find((group) => maySpare(collecting, [group]))
      const [first] = ended.toSorted(inDatasetOrder)
      return first !== undefined && inFlight.every((group) => inDatasetOrder(first, group) < 0) ? first : undefined
    }
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
export const nameOf = ({ batch, key }: Pick<Ticket, "batch" | "key">) => JSON.stringify([batch, key])
