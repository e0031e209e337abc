/** The credit interface, and credit that compares the rewards of members, groups or roles. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import type { Weights } from "../../backend/Weights.ts"
import type { Json, JsonObject } from "../../records/Json.ts"
import * as Statistics from "../../records/Statistics.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as Check from "../../settings/Check.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import * as Advantage from "../Advantage.ts"
import * as Signal from "../Signal.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import * as TrainingData from "../TrainingData.ts"

/**
 * What happens with a group. "informative": it is trained on, because the credit gives its tokens nonzero advantages. "constant": all its
 * advantages are 0. "skipped": it has no rewards. "quarantined": an audit suspects it.
 */
export type Verdict = "informative" | "constant" | "skipped" | "quarantined"

/** The credit of one group: its verdict, advantages and data. */
export interface GroupCredit {
  readonly result: GroupResult.GroupResult
  readonly verdict: Verdict
  /** Why a group is not trained on; for a quarantined group, what the audit suspects. */
  readonly reason?: string
  /** One advantage per member; empty if the group is not trained on. */
  readonly advantagesG: Float32Array
  /** Training datums in the order of members and turns; empty if the group is not trained on. */
  readonly data: ReadonlyArray<TrainingData.TrainingDatum>
}

export interface Assigned {
  /** One credit per given group, in order. */
  readonly groups: ReadonlyArray<GroupCredit>
  /** Datums of earlier iterations to train on again, spread over the updates. The iteration's metrics exclude them. */
  readonly replayed?: ReadonlyArray<TrainingData.TrainingDatum>
  readonly metrics: Readonly<Record<string, number>>
  /** The memory for the next iteration's call. */
  readonly memory: Json
}

/** Properties of a credit that a run needs to know before it assigns the credit. */
export interface Traits {
  /** Set if a group's credit does not depend on the other groups, so groups may be credited as they finish. */
  readonly isByGroup?: true
  /** Models that the credit asks for prompt log-probabilities. A run fails at its start if the capabilities of one exclude them. */
  readonly readers?: ReadonlyArray<SamplingClient>
  /**
   * Metrics that the credit compares instead of the reward. A run fails if no attempt in its first iteration reports one of them, unless
   * all attempts failed or were cut short.
   */
  readonly components?: ReadonlyArray<string>
  /** Checks of the credit's options, which a run performs before it starts. */
  readonly checks?: ReadonlyArray<Check.Check>
  /** The smallest group size that an option allows, and the option's name. A run checks its groups in the first iteration. */
  readonly leastMembers?: { readonly option: string; readonly members: number }
}

/** A credit rule, with the name and configuration that identify it in a run's records. */
export interface Credit<out E = never, out R = never> extends Traits {
  readonly name: string
  readonly config: JsonObject
  /**
   * Assigns credit to the groups of one iteration. `memory` is what the previous iteration returned, or null for the first. A run saves it
   * with its checkpoints, so a resumed run continues exactly. `weights` are the weights being trained, before the iteration's update, for
   * teachers and references that follow the policy.
   */
  readonly assign: (
    groups: ReadonlyArray<GroupResult.GroupResult>,
    memory: Json,
    weights: Weights
  ) => Effect.Effect<Assigned, E, R>
}

export const noAdvantages = new Float32Array(0)

/** The credit's name and configuration, as a run records them and as a credit that wraps it has them in its own configuration. */
export const identityOf = ({ config, name }: Pick<Credit, "config" | "name">): JsonObject => ({ name, ...config })

/** Copies the traits of a credit or an estimator, for a credit that wraps it. */
export const traitsOf = ({ checks, components, isByGroup, leastMembers, readers }: Traits): Traits => ({
  ...(checks !== undefined && { checks }),
  ...(leastMembers !== undefined && { leastMembers }),
  ...(isByGroup === true && { isByGroup }),
  ...(readers !== undefined && { readers }),
  ...(components !== undefined && { components })
})

const constant = (result: GroupResult.GroupResult, reason: string): GroupCredit => ({
  result,
  verdict: "constant",
  reason,
  advantagesG: noAdvantages,
  data: []
})

/** Marks the group as constant if all its advantages are 0, for example because its equally good best members cancel. */
export const orConstant = (credit: GroupCredit): GroupCredit => {
  const isZero = ({ inputs }: TrainingData.TrainingDatum) => inputs.advantages.every((advantage) => advantage === 0)
  return credit.verdict === "informative" && credit.data.every(isZero)
    ? constant(credit.result, "all advantages are 0")
    : credit
}

/**
 * Credits each group with the estimator's advantages. The signal source, which the estimator may override, decides which groups are trained
 * on. A rescaling changes the advantages, given those of all trained tokens.
 */
export const credited = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  source: Signal.Source,
  estimator: Advantage.Estimator,
  rescaling?: (trained: ReadonlyArray<number>) => (advantage: number) => number
): ReadonlyArray<GroupCredit> => {
  const signals = Signal.each(results, estimator.source ?? source)
  const trained = () =>
    signals.flatMap((signal) => signal._tag === "Informative" ? TrainingData.trained(signal, estimator) : [])
  const scale = rescaling?.(trained())
  return signals.map((signal) => {
    switch (signal._tag) {
      case "Informative": {
        const { advantagesG, data, group } = TrainingData.assemble(signal, estimator, scale)
        return { result: group, verdict: "informative", advantagesG, data }
      }
      case "Constant":
        return constant(signal.group, signal.reason)
      case "Skipped":
        return {
          result: signal,
          verdict: "skipped",
          reason: signal.reason.failure,
          advantagesG: noAdvantages,
          data: []
        }
    }
  })
}

/** An estimator whose advantages are all 0. */
const zero = Advantage.make("zero", ({ group }) => new Float32Array(group.members.length))

/** The groups with their datums, whose advantages are all 0 until other terms are added. */
export const uncredited = (results: ReadonlyArray<GroupResult.GroupResult>) => credited(results, "tokens", zero)

/**
 * Gives constant groups datums with advantages of 0, so per-token terms apply to them as well. Failed members get no datums. All other
 * groups, also skipped and quarantined ones, stay as they are.
 */
export const withConstant = (groups: ReadonlyArray<GroupCredit>): ReadonlyArray<GroupCredit> =>
  groups.flatMap((group) => group.verdict === "constant" ? uncredited([group.result]) : [group])

/**
 * Trains on every group that has members, whatever its rewards, with advantages of 0. For losses that read no advantages, such as
 * `Objective.topK`.
 *
 * @example
 * Rl.run({ model, dataset, update: { credit: Credit.everyGroup, loss: Objective.topK({ teacher: client }) } })
 */
export const everyGroup: Credit = {
  name: "every_group",
  config: {},
  isByGroup: true,
  assign: (groups, memory) => Effect.sync(() => ({ groups: uncredited(groups), metrics: {}, memory }))
}

/**
 * Credit relative to the group, computed by an advantage estimator. A group whose advantages are all 0 gives no datums, nor does a group
 * whose rewards are all equal, unless the estimator has the source `tokens`. An iteration without an informative group takes no optimizer
 * step.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.leaveOneOut)
 *
 * @see tinker-cookbook `remove_constant_reward_groups`, `assemble_training_data`
 */
export const groupRelative = (estimator: Advantage.Estimator): Credit => ({
  name: "group_relative",
  config: { estimator: estimator.name, ...estimator.config },
  ...traitsOf(estimator),
  isByGroup: true,
  assign: (groups, memory) =>
    Effect.sync(() => ({ groups: credited(groups, "members", estimator).map(orConstant), metrics: {}, memory }))
})

/**
 * Credit relative to the batch: A = (a − mean(a)) / √(var(a) + 10⁻⁸), where a is the estimator's advantage of a token; mean and variance
 * (divisor n − 1) are taken over all trained tokens of all groups. With `Advantage.reward` this is REINFORCE++, with `Advantage.centered`
 * its variant with the group mean as the baseline (arXiv:2501.03262). Groups with equal rewards are trained on as well, unless all rewards
 * of the batch are equal.
 *
 * @see verl `compute_reinforce_plus_plus_outcome_advantage`
 */
export const batchRelative = (estimator: Advantage.Estimator = Advantage.reward): Credit => ({
  name: "batch_relative",
  config: { estimator: estimator.name, ...estimator.config },
  ...traitsOf(estimator),
  assign: (groups, memory) =>
    Effect.sync(() => ({
      groups: credited(groups, "batch", estimator, TokenAdvantages.whitening).map(orConstant),
      metrics: {},
      memory
    }))
})

type Role = (group: GroupResult.Group, member: number) => string

export interface RoleOptions {
  /** α in b ← α·b + (1 − α)·r, at least 0 and below 1. Default: 0.95. */
  readonly decay?: number
  /** The role of a member. Default: the group's tags and the member's index, which in self-play is the player's number. */
  readonly roleOf?: Role
}

const seat: Role = ({ tags }, member) => [...tags, member].join("/")

const Baselines = Schema.Record(Schema.String, Schema.Finite)

/** The advantages of each group's members by group id, and the baselines after all groups. */
const compared = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  before: typeof Baselines.Type,
  decay: number,
  roleOf: Role
) => {
  const baselines: Record<string, number> = { ...before }
  const advantages = new Map<string, Float64Array>()
  for (const group of results) {
    if (GroupResult.isSkipped(group)) continue
    advantages.set(
      GroupResult.idOf(group),
      group.rewardsG.map((reward, member) => {
        if (Number.isNaN(reward)) return 0
        const role = roleOf(group, member)
        const baseline = baselines[role] ?? 0
        baselines[role] = decay * baseline + (1 - decay) * reward
        return reward - baseline
      })
    )
  }
  return { advantages, baselines }
}

/**
 * Aᵢ = rᵢ − b, where b is the moving average of the rewards of the member's role over the run (RAE of SPIRAL, arXiv:2506.24119). b starts
 * at 0, and a member's reward is added to it after the member's own advantage is computed. For games whose sides have different chances, so
 * the members of a group cannot be compared with each other. The averages are the credit's memory, so a resumed run continues exactly.
 * Fails with `InvalidOption` if `decay` is not at least 0 and below 1.
 *
 * @see prime-rl `RAEAlgorithm`
 */
export const roleRelative = ({ decay = 0.95, roleOf = seat }: RoleOptions = {}): Credit<InvalidOption> => ({
  name: "role_relative",
  config: { decay },
  assign: Effect.fnUntraced(function*(results, memory) {
    yield* Check.all(Check.option("decay", decay, {
      expected: "a number from 0 to below 1",
      accepts: (value: number) => value >= 0 && value < 1
    }))
    const before = Option.getOrElse(Schema.decodeUnknownOption(Baselines)(memory), () => ({}))
    const { advantages, baselines } = compared(results, before, decay, roleOf)
    const estimator = Advantage.make(
      "role",
      ({ group }) => advantages.get(GroupResult.idOf(group)) ?? new Float64Array(0)
    )
    return { groups: credited(results, "tokens", estimator).map(orConstant), metrics: {}, memory: baselines }
  })
})

/** Σ(r − mean)² / (m(m − 1)): the sampling variance of the mean of m rewards. */
const varianceOfMean = (rewards: Float64Array) =>
  Statistics.squaredDeviations(rewards) / (rewards.length * (rewards.length - 1))

const meanOrZero = (values: Statistics.Values) => values.length === 0 ? 0 : Statistics.mean(values)

/** The target toward which a group's baseline is shrunk, and its weight λ, computed from the rewards of the other groups. */
const pull = (others: ReadonlyArray<Float64Array>) => {
  const means = others.map(Statistics.mean)
  const target = meanOrZero(means)
  const within = meanOrZero(others.filter(({ length }) => length > 1).map(varianceOfMean))
  const between = meanOrZero(means.map((value) => (value - target) ** 2))
  const share = within === 0 ? 0 : (others.length / (others.length + 1)) * (within / (within + between))
  return { target, share }
}

const finishedRewards = (group: GroupResult.Group) => group.rewardsG.filter((reward) => !Number.isNaN(reward))

/** The shrunken baseline of a member. If no other member of its group is left, the other groups' mean is the baseline. */
const baseline = (reward: number, rewards: Float64Array, others: ReadonlyArray<Float64Array>) => {
  const { share, target } = pull(others)
  if (rewards.length < 2) return others.length === 0 ? reward : target
  return (1 - share) * (Statistics.sum(rewards) - reward) / (rewards.length - 1) + share * target
}

const shrunk = (results: ReadonlyArray<GroupResult.GroupResult>) => {
  const groups = results.filter((result) => !GroupResult.isSkipped(result))
  const rewardsP = new Map(groups.map((group) => [GroupResult.idOf(group), finishedRewards(group)]))
  return Advantage.make("shrinkage", ({ group }) => {
    const rewards = finishedRewards(group)
    const id = GroupResult.idOf(group)
    const others = [...rewardsP].flatMap(([other, rewards]) => other === id || rewards.length === 0 ? [] : [rewards])
    return group.rewardsG.map((reward) => Number.isNaN(reward) ? 0 : reward - baseline(reward, rewards, others))
  })
}

/**
 * Aᵢ = rᵢ − (1 − λ)·m₋ᵢ − λ·M, where m₋ᵢ is the mean of the other members' rewards and M the mean of the other groups' means. λ = (n − 1)/n
 * · v/(v + s) for n groups, where v is the mean sampling variance of the other groups' means and s the variance between them (James-Stein
 * shrinkage; both levels leave one out, so the gradient stays unbiased: arXiv:2511.03710). For few attempts at many problems. Groups with
 * equal rewards are trained on as well, unless all rewards of the batch are equal.
 */
export const shrinkage: Credit = {
  name: "shrinkage",
  config: {},
  assign: (groups, memory) =>
    Effect.sync(() => ({
      groups: credited(groups, "batch", shrunk(groups)).map(orConstant),
      metrics: {},
      memory
    }))
}

const Memories = Schema.Record(Schema.String, Schema.Json)

/**
 * Chooses the credit of each group by its first tag that is named in `credits`: for example a teacher per dataset, or a teacher for some
 * problems and rewards for others. Metric names end with the tag, as in `teacher_kl/code`. Fails with `InvalidOption` if a group has none
 * of the tags.
 *
 * @example
 * const credit = Credit.byTag({ code: Credit.distill({ teacher: client }), math: Credit.groupRelative(Advantage.centered) })
 *
 * @see tinker-cookbook `recipes/distillation/on_policy_multi_teacher.py`
 */
export const byTag = <E, R>(credits: Readonly<Record<string, Credit<E, R>>>): Credit<E | InvalidOption, R> => {
  const tags = Object.keys(credits)
  return {
    name: "by_tag",
    config: Record.map(credits, identityOf),
    ...(Object.values(credits).every(({ isByGroup }) => isByGroup === true) && { isByGroup: true }),
    // Components are not passed on, because the first iteration may not contain the tag whose groups report them.
    checks: Object.values(credits).flatMap(({ checks = [] }) => checks),
    readers: Object.values(credits).flatMap(({ readers = [] }) => readers),
    assign: Effect.fnUntraced(function*(results, memory, weights) {
      const byTag = yield* sorted(results, tags)
      const before = Option.getOrElse(Schema.decodeUnknownOption(Memories)(memory), (): typeof Memories.Type => ({}))
      const assigned = yield* Effect.forEach(Object.entries(credits), ([tag, credit]) =>
        Effect.map(
          credit.assign(byTag.get(tag) ?? [], before[tag] ?? null, weights),
          (assigned) => [tag, assigned] as const
        ))
      return together(results, assigned)
    })
  }
}

const sorted = Effect.fnUntraced(
  function*(results: ReadonlyArray<GroupResult.GroupResult>, tags: ReadonlyArray<string>) {
    const byTag = new Map<string, Array<GroupResult.GroupResult>>()
    for (const result of results) {
      const tag = result.tags.find((tag) => tags.includes(tag))
      if (tag === undefined) {
        const expected = `one of the tags ${tags.join(", ")}, for which there is a credit`
        return yield* new InvalidOption({
          field: `tags of "${result.key}"`,
          found: result.tags.join(", ") || "none",
          expected
        })
      }
      byTag.set(tag, [...byTag.get(tag) ?? [], result])
    }
    return byTag
  }
)

/** Combines the credits of all parts, in the order of the results. */
const together = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  assigned: ReadonlyArray<readonly [tag: string, assigned: Assigned]>
): Assigned => {
  const byId = new Map(
    assigned.flatMap(([, { groups }]) => groups.map((group) => [GroupResult.idOf(group.result), group] as const))
  )
  const replayed = assigned.flatMap(([, { replayed = [] }]) => replayed)
  return {
    groups: results.flatMap((result) => byId.get(GroupResult.idOf(result)) ?? []),
    ...(replayed.length > 0 && { replayed }),
    metrics: Object.fromEntries(
      assigned.flatMap(([tag, { metrics }]) =>
        Object.entries(metrics).map(([name, value]) => [`${name}/${tag}`, value])
      )
    ),
    memory: Object.fromEntries(assigned.map(([tag, { memory }]) => [tag, memory]))
  }
}
