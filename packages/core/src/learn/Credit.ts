/** Credit: what an update trains on, made of the groups that were rolled out. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { JsonObject } from "../record/Json.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import type { Estimator } from "./Advantage.ts"
import * as Signal from "./Signal.ts"
import * as TrainingData from "./TrainingData.ts"

/** How a group was judged: trained on, without a signal, or without rewards. */
export type Verdict = "informative" | "constant" | "skipped"

/** One group's credit. */
export interface GroupCredit {
  readonly result: GroupResult.GroupResult
  readonly verdict: Verdict
  /** One advantage per member; empty where the group is not trained on. */
  readonly advantagesG: Float32Array
  /** In the order of members and turns; none where the group is not trained on. */
  readonly data: ReadonlyArray<TrainingData.TrainingDatum>
}

export interface Assigned {
  /** In the order of the groups that were given. */
  readonly groups: ReadonlyArray<GroupCredit>
  readonly metrics: Readonly<Record<string, number>>
}

/** A rule of credit, with the name and configuration that identify it in a run's records. */
export interface Credit<out E = never, out R = never> {
  readonly name: string
  readonly config: JsonObject
  readonly assign: (groups: ReadonlyArray<GroupResult.GroupResult>) => Effect.Effect<Assigned, E, R>
}

const none = new Float32Array(0)

/**
 * Credit relative to the group, by an advantage estimator. A group whose rewards are all equal says nothing about which tokens
 * were better: it becomes no datum, and an iteration without an informative group takes no optimizer step.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.leaveOneOut)
 *
 * @see tinker-cookbook `remove_constant_reward_groups`, `assemble_training_data`
 */
export const groupRelative = (estimator: Estimator): Credit => ({
  name: "group_relative",
  config: { estimator: estimator.name, ...estimator.config },
  assign: (groups) => Effect.sync(() => ({ groups: assignByGroup(groups, estimator), metrics: {} }))
})

const assignByGroup = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  estimator: Estimator
): ReadonlyArray<GroupCredit> => {
  const { informative } = Signal.partition(results)
  const assembled = Arr.isReadonlyArrayNonEmpty(informative) ? TrainingData.assemble(informative, estimator) : []
  const byGroup = new Map(assembled.map((credited) => [credited.group, credited]))
  return results.map((result) => {
    if (GroupResult.isSkipped(result)) return { result, verdict: "skipped", advantagesG: none, data: [] }
    const credited = byGroup.get(result)
    return credited === undefined
      ? { result, verdict: "constant", advantagesG: none, data: [] }
      : { result, verdict: "informative", advantagesG: credited.advantagesG, data: credited.data }
  })
}
