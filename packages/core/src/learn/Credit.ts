/** Credit: what an update trains on, made of the groups that were rolled out. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { JsonObject } from "../record/Json.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import { type Estimator, reward } from "./Advantage.ts"
import * as Signal from "./Signal.ts"
import * as TokenAdvantages from "./TokenAdvantages.ts"
import * as TrainingData from "./TrainingData.ts"

/** How a group was judged: trained on, without a signal, or without rewards. */
export type Verdict = "informative" | "constant" | "skipped"

/** One group's credit. */
export interface GroupCredit {
  readonly result: GroupResult.GroupResult
  readonly verdict: Verdict
  /** One advantage per member; empty where the group is not trained on. */
  readonly advantagesG: Float32Array
  /** In the order of members and turns; empty where the group is not trained on. */
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
 * Credit relative to the group, by an advantage estimator. A group whose rewards are all equal, or whose advantages are all 0, says
 * nothing about which tokens were better: it becomes no datum, and an iteration without an informative group takes no optimizer
 * step.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.leaveOneOut)
 *
 * @see tinker-cookbook `remove_constant_reward_groups`, `assemble_training_data`
 */
export const groupRelative = (estimator: Estimator): Credit => ({
  name: "group_relative",
  config: { estimator: estimator.name, ...estimator.config },
  assign: (groups) =>
    Effect.sync(() => ({ groups: credited(groups, "members", estimator).map(orConstant), metrics: {} }))
})

/** Equal best members, say, cancel in some estimators. */
const orConstant = (credit: GroupCredit): GroupCredit =>
  credit.verdict === "informative" && credit.advantagesG.every((advantage) => advantage === 0)
    ? { ...credit, verdict: "constant", advantagesG: none, data: [] }
    : credit

/**
 * Credit relative to the batch: A = (a − mean(a)) / √(var(a) + 10⁻⁸) with a the estimator's advantage of a token, mean and variance
 * (divisor n − 1) over all trained tokens of all groups. With `Advantage.reward` this is REINFORCE++, with `Advantage.centered` its
 * variant with the group's mean as baseline (arXiv:2501.03262). Groups whose rewards are all equal are trained on as well, unless
 * those of the whole batch are.
 *
 * @see verl `compute_reinforce_plus_plus_outcome_advantage`
 */
export const batchRelative = (estimator: Estimator = reward): Credit => ({
  name: "batch_relative",
  config: { estimator: estimator.name, ...estimator.config },
  assign: (groups) => Effect.sync(() => ({ groups: whiten(credited(groups, "batch", estimator)), metrics: {} }))
})

const whiten = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> => {
  const scale = TokenAdvantages.whitening(groups.flatMap(({ data }) => data))
  const isFinished = (result: GroupResult.GroupResult, member: number) =>
    !GroupResult.isSkipped(result) && !Number.isNaN(result.rewardsG[member])
  return groups.map((group) => ({
    ...group,
    advantagesG: group.advantagesG.map((advantage, member) => isFinished(group.result, member) ? scale(advantage) : 0),
    data: group.data.map((datum) => TokenAdvantages.map(datum, scale))
  }))
}

/** Each result with the estimator's advantages and its datums; the source of the signal says which groups are trained on. */
const credited = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  source: Signal.Source,
  estimator: Estimator
): ReadonlyArray<GroupCredit> => {
  const { informative } = Signal.partition(results, source)
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
