/** The ages of the groups that an update trained on or set aside. */
import * as Option from "effect/Option"
import * as Key from "../../records/Key.ts"
import type * as RunRecord from "../../records/RunRecord.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import type * as Dispatch from "./Dispatch.ts"

/** An iteration's groups in update order, and the groups that it set aside. */
export interface Aged {
  readonly iteration: number
  readonly groups: ReadonlyArray<Dispatch.Ended>
  readonly aside: ReadonlyArray<Dispatch.Aside>
}

type Credited = RunRecord.Credited["groups"][number]

const staleness = (
  { began, ended }: { readonly began: number; readonly ended?: number | undefined },
  iteration: number
): RunRecord.Staleness => ({
  inFlight: (ended ?? iteration) - began,
  inQueue: ended === undefined ? 0 : iteration - ended
})

const age = ({ inFlight, inQueue }: RunRecord.Staleness) => inFlight + inQueue

/** Adds ages to the credit of an update's groups, and appends the groups that were set aside. */
export const annotate = (
  credits: ReadonlyArray<Credited & Key.GroupId>,
  { aside, groups, iteration }: Aged
): ReadonlyArray<Credited> => {
  const ages = new Map(
    groups.map((group) => [
      Key.ofGroup({ iteration: group.batch, key: group.key }),
      { staleness: staleness(group, iteration) }
    ])
  )
  return [
    ...credits.map((credit) => ({ ...credit, ...ages.get(Key.ofGroup(credit)) })),
    ...aside.map(({ group, verdict }) => ({
      key: group.key,
      verdict,
      advantages: [],
      iteration: group.batch,
      staleness: staleness(group, iteration)
    }))
  ]
}

const spread = (name: string, values: ReadonlyArray<number>): Readonly<Record<string, number>> =>
  values.length === 0 ? {} : {
    [`async/${name}_min`]: values.reduce((least, value) => Math.min(least, value)),
    [`async/${name}_mean`]: Statistics.mean(values),
    [`async/${name}_max`]: values.reduce((most, value) => Math.max(most, value))
  }

/**
 * Ages of the update's groups in iterations: `async/staleness_…` in total, `async/in_flight_…` until they ended, and `async/in_queue_…`
 * afterwards. `async/excess` counts groups older than `lead`. `async/filtered` and `async/stale` count groups that were set aside.
 *
 * @see tinker-cookbook `async/staleness_min`
 */
export const measure = ({ aside, groups, iteration }: Aged, lead: number): Readonly<Record<string, number>> => {
  const all = groups.map((group) => staleness(group, iteration))
  const count = (verdict: Dispatch.Aside["verdict"]) => aside.filter((other) => other.verdict === verdict).length
  return {
    ...spread("staleness", all.map(age)),
    ...spread("in_flight", all.map(({ inFlight }) => inFlight)),
    ...spread("in_queue", all.map(({ inQueue }) => inQueue)),
    "async/excess": all.filter((group) => age(group) > lead).length,
    "async/filtered": count("filtered"),
    "async/stale": count("stale")
  }
}

const newerBy = ({ members, samplerStep: began }: GroupResult.Group) =>
  members.flatMap((member) => Option.isSome(member) ? member.value.transitions : [])
    .flatMap(({ action: { samplerStep } }) => samplerStep === undefined ? [] : [samplerStep - began])

/**
 * `async/newer_weights_…`: the number of optimizer steps between the weights with which a group began and those of its turns. Empty unless
 * turns have their own weights.
 */
export const ofTurns = (results: ReadonlyArray<GroupResult.GroupResult>): Readonly<Record<string, number>> =>
  spread("newer_weights", results.flatMap((result) => GroupResult.isSkipped(result) ? [] : newerBy(result)))
