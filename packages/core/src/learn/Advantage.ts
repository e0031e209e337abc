/** Advantage estimators: how much better each member did than the rest of its group. */
import * as Trajectory from "../env/Trajectory.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type * as EnvMetric from "../records/EnvMetric.ts"
import type { JsonObject } from "../records/Json.ts"
import * as Statistics from "../records/Statistics.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Check from "../settings/Check.ts"
import type * as Signal from "./Signal.ts"
import type { InformativeGroup } from "./Signal.ts"

/**
 * An estimator with the name and configuration that identify it in a run's records.
 *
 * @see tinker-cookbook `compute_advantages`
 */
export interface Estimator {
  readonly name: string
  /** Configuration that distinguishes the estimator from others with the same name; part of the run's identity. */
  readonly config: JsonObject
  /** One finite advantage per member, shape `[G]`; 0 for members that were dropped. Rounded to float32 when a datum is made. */
  readonly of: (group: InformativeGroup) => Float64Array | Float32Array
  /** Advantages of single tokens; absent if all action tokens of a member have the member's advantage. */
  readonly ofTokens?: (group: InformativeGroup) => TokenAdvantage
  /**
   * `tokens` if tokens have their own advantages, in which case groups with equal rewards are estimated as well. Default: the source of the
   * credit.
   */
  readonly source?: Signal.Source
  /** Checks of the estimator's options, which a run performs before it starts. */
  readonly checks?: ReadonlyArray<Check.Check>
  /** The smallest group size that an option allows, and the option's name. A run checks its groups in the first iteration. */
  readonly leastMembers?: { readonly option: string; readonly members: number }
  /** Names of the metrics that the estimator compares instead of the reward. Default: none. */
  readonly components?: ReadonlyArray<string>
}

/** The advantage of an action token, given its member, turn and position in the turn. */
export type TokenAdvantage = (member: number, turn: number, position: number) => number

/**
 * A custom estimator. `rewardsG` is NaN for members that were dropped.
 *
 * @example
 * const sign = Advantage.make("sign", ({ group }) => Float32Array.from(group.rewardsG, (reward) => Math.sign(reward) || 0))
 */
export const make = (name: string, of: Estimator["of"], config: JsonObject = {}): Estimator => ({ name, config, of })

/** The mean advantage of each member's action tokens. */
const meanOfTokens = (group: GroupResult.Group, advantageOf: TokenAdvantage) => {
  const advantagesG = new Float64Array(group.members.length)
  for (const [member, trajectory] of GroupResult.survivors(group)) {
    let total = 0
    trajectory.transitions.forEach(({ action }, turn) => {
      for (let position = 0; position < action.tokens.length; position++) total += advantageOf(member, turn, position)
    })
    advantagesG[member] = total / Math.max(1, Trajectory.actionTokens(trajectory))
  }
  return advantagesG
}

const byToken = (
  name: string,
  ofTokens: (group: InformativeGroup) => TokenAdvantage,
  config: JsonObject
): Estimator => ({
  name,
  config,
  of: (informative) => meanOfTokens(informative.group, ofTokens(informative)),
  ofTokens
})

/**
 * A custom estimator whose advantages differ between the tokens of a member, for example rewards of single turns or an entropy bonus. It
 * also estimates groups with equal rewards; groups whose advantages are all 0 are not trained on. In records, a member's advantage is the
 * mean over its action tokens.
 *
 * @example
 * const exploring = Advantage.perToken("entropy_bonus", (informative) => {
 *   const advantagesG = Advantage.centered.of(informative)
 *   const turnsG = informative.group.members.map((member) => Option.getOrUndefined(member)?.transitions)
 *   return (member, turn, position) =>
 *     (advantagesG[member] ?? 0) - 0.01 * (turnsG[member]?.[turn]?.action.logprobs[position] ?? 0)
 * })
 */
export const perToken = (
  name: string,
  ofTokens: (group: InformativeGroup) => TokenAdvantage,
  config: JsonObject = {}
): Estimator => ({ ...byToken(name, ofTokens, config), source: "tokens" })

/**
 * The reward itself: Aᵢ = rᵢ (REINFORCE, Williams 1992). Within one group, positive rewards push every member up, so use this for credit
 * that compares across groups, such as `Credit.batchRelative`.
 */
export const reward: Estimator = make(
  "reward",
  ({ group }) => group.rewardsG.map((reward) => Number.isNaN(reward) ? 0 : reward)
)

/** Applies a rule to the rewards of the members that finished. */
const fromFinished = (
  { group }: InformativeGroup,
  rule: (finished: Float64Array) => (reward: number) => number
): Float64Array => {
  const advantageOf = rule(group.rewardsG.filter((reward) => !Number.isNaN(reward)))
  return group.rewardsG.map((reward) => Number.isNaN(reward) ? 0 : advantageOf(reward))
}

/**
 * Aᵢ = rᵢ − mean(r): the advantage of Dr. GRPO (arXiv:2503.20783). It is not divided by the standard deviation, so groups that are nearly
 * all right or all wrong do not get more weight.
 */
export const centered: Estimator = make("centered", (informative) =>
  fromFinished(informative, (finished) => {
    const mean = Statistics.mean(finished)
    return (reward) => reward - mean
  }))

/**
 * Aᵢ = rᵢ − mean of the others' rewards = G/(G−1)·(rᵢ − mean(r)): the advantage of RLOO (arXiv:2402.14740). It is unbiased, because a
 * member's baseline does not depend on the member.
 */
export const leaveOneOut: Estimator = make("leave_one_out", (informative) =>
  fromFinished(informative, (finished) => {
    const mean = Statistics.mean(finished)
    const scale = finished.length > 1 ? finished.length / (finished.length - 1) : 1
    return (reward) => (reward - mean) * scale
  }))

/**
 * Added to standard deviations before dividing by them. Also the minimum ratio of a mean to the largest reward for dividing by that mean.
 */
const epsilon = 1e-6

/** The standard deviation with divisor n − 1 ("sample") or n ("population"); 0 for a single value. */
const standardDeviation = (values: Float64Array, deviation: Deviation) => {
  const divisor = deviation === "sample" ? values.length - 1 : values.length
  return Math.sqrt(Statistics.squaredDeviations(values) / Math.max(1, divisor))
}

/** The divisor of a standard deviation: n − 1 for "sample", n for "population". */
export type Deviation = "sample" | "population"

/**
 * Aᵢ = (rᵢ − mean(r)) / (std(r) + 10⁻⁶): the advantage of GRPO (arXiv:2402.03300). TRL, verl and SkyRL divide by the sample deviation
 * (divisor G−1), which is the default; the population deviation has the divisor G.
 */
export const normalized = (deviation: Deviation = "sample"): Estimator =>
  make("normalized", (informative) =>
    fromFinished(informative, (finished) => {
      const center = Statistics.mean(finished)
      const scale = standardDeviation(finished, deviation) + epsilon
      return (reward) => (reward - center) / scale
    }), { deviation, epsilon })

/**
 * Aᵢ = (rᵢ − mean(r)) / mean(r): the advantage of MaxRL (arXiv:2602.02710). It is 0 if the mean is not positive, or nearly 0 compared to
 * the largest reward, which can happen with rewards of both signs. With rewards of 0 and 1 it maximises the log-likelihood of success
 * instead of its probability, so rarely solved problems get more weight.
 */
export const maxRl: Estimator = make("max_rl", (informative) =>
  fromFinished(informative, (finished) => {
    const center = Statistics.mean(finished)
    const largest = finished.reduce((most, reward) => Math.max(most, Math.abs(reward)), 0)
    return (reward) => center > epsilon * largest ? (reward - center) / center : 0
  }))

/**
 * Aᵢ = rᵢ − Σ lⱼrⱼ / Σ lⱼ, where lⱼ is the number of action tokens of member j (OPO, arXiv:2505.23585). This baseline has the least
 * variance if the squared norm of a member's gradient grows with its length.
 */
export const lengthWeighted: Estimator = make("length_weighted", (informative) => {
  const finished = GroupResult.survivors(informative.group).map(([member, trajectory]) => ({
    reward: informative.group.rewardsG[member] ?? 0,
    length: Trajectory.actionTokens(trajectory)
  }))
  const total = finished.reduce((sum, { length }) => sum + length, 0)
  const weighted = finished.reduce((sum, { length, reward }) => sum + length * reward, 0)
  return fromFinished(informative, (rewards) => {
    const baseline = total > 0 ? weighted / total : Statistics.mean(rewards)
    return (reward) => reward - baseline
  })
})

/** For each j, the probability that the j-th of m ascending values is the largest of k − 1 of them drawn at random; shape `[m]`. */
const chancesOfLargest = (m: number, k: number): Float64Array => {
  const chances = new Float64Array(m)
  let chance = (k - 1) / m
  for (let j = m; j >= k - 1; j--) {
    chances[j - 1] = chance
    chance *= (j - k + 1) / (j - 1)
  }
  return chances
}

/**
 * Aᵢ = the mean, over all subsets of k − 1 other members, of max(0, rᵢ − the largest reward in the subset): what member i adds to the best
 * of k attempts. Its gradient is that of pass@k (leave-one-out minus one of PKPO, arXiv:2505.15201). By default k is the group's size: then
 * only the best member has an advantage, its lead over the second best (arXiv:2503.19595), and a group with several best members is not
 * trained on. A run refuses a k that is not an integer ≥ 2 (with k = 1 the gradient is that of `reward`) or that exceeds the group's size.
 * If members were dropped, k is at most the number of finished members.
 */
export const passAtK = (k = Infinity): Estimator => ({
  ...make("pass_at_k", (informative) =>
    fromFinished(informative, (finished) => {
      const sorted = Array.from(finished).toSorted((left, right) => left - right)
      const chances = chancesOfLargest(sorted.length - 1, Math.min(k, sorted.length))
      return (reward) => {
        const others = sorted.toSpliced(sorted.indexOf(reward), 1)
        return others.reduce((sum, other, j) => sum + (chances[j] ?? 0) * Math.max(0, reward - other), 0)
      }
    }), { k: Number.isFinite(k) ? k : null }),
  checks: [
    Check.option("update.credit.k", k, {
      expected: "a whole number of at least 2, or left out for the size of the group; for 1, use Advantage.reward",
      accepts: (k) => k === Infinity || (Number.isInteger(k) && k >= 2)
    })
  ],
  ...(Number.isFinite(k) && { leastMembers: { option: "update.credit.k", members: k } })
})

/**
 * Aᵢ = rᵢ − the mean reward of the members in i's part of the group; 0 for a member that is alone in its part. For groups with several
 * kinds of members, such as proposers, which are compared across problems, and solvers, which are compared within one problem. `name`
 * identifies `partOf` in a run's records.
 *
 * @see prime-rl `HierarchicalGRPOAlgorithm`
 */
export const hierarchical = (
  name: string,
  partOf: (member: number, group: GroupResult.Group) => string
): Estimator =>
  make("hierarchical", ({ group }) => {
    const rewardsOf = (part: string) =>
      group.rewardsG.filter((reward, member) => !Number.isNaN(reward) && partOf(member, group) === part)
    return group.rewardsG.map((reward, member) =>
      Number.isNaN(reward) ? 0 : reward - Statistics.mean(rewardsOf(partOf(member, group)))
    )
  }, { parts: name })

const isSamePrompt = (left: ModelInput.ModelInput, right: ModelInput.ModelInput) =>
  left.length === right.length && ModelInput.after(left, right) !== undefined

/** The members that have the same prompt at a turn, as sets of at least two. */
const readingAlike = (group: GroupResult.Group, turn: number): ReadonlyArray<ReadonlyArray<number>> => {
  const readers: Array<{ readonly prompt: ModelInput.ModelInput; readonly members: Array<number> }> = []
  for (const [member, { transitions }] of GroupResult.survivors(group)) {
    const prompt = transitions[turn]?.observation
    if (prompt === undefined) continue
    const alike = readers.find((other) => isSamePrompt(other.prompt, prompt))
    if (alike === undefined) readers.push({ prompt, members: [member] })
    else alike.members.push(member)
  }
  return readers.map(({ members }) => members).filter(({ length }) => length > 1)
}

/** Each member's baseline at each turn, shape `[G][turns]`. */
const prefixBaselines = (group: GroupResult.Group): ReadonlyArray<ReadonlyArray<number>> => {
  const finished = group.rewardsG.filter((reward) => !Number.isNaN(reward))
  const baselines = group.members.map((): Array<number> => [Statistics.mean(finished)])
  const turns = Math.max(0, ...GroupResult.survivors(group).map(([, { transitions }]) => transitions.length))
  for (let turn = 1; turn < turns; turn++) {
    for (const own of baselines) own[turn] = own[turn - 1] ?? 0
    for (const members of readingAlike(group, turn)) {
      const baseline = Statistics.mean(Float64Array.from(members, (member) => group.rewardsG[member] ?? 0))
      for (const member of members) (baselines[member] ?? [])[turn] = baseline
    }
  }
  return baselines
}

/**
 * Per turn: A = rᵢ − the mean reward of the members that have the same prompt at the turn; at turn 0, the mean of all members. If no other
 * member has the prompt, the mean at the last shared turn is used. For rollouts that branch, such as those of a tree search, because each
 * turn is compared only with its alternatives. GiGPO's step level (arXiv:2505.10978) differs: it groups equal environment states at any
 * turn, and adds the normalised, discounted returns from there on to the episode's advantage.
 */
export const sharedPrefix: Estimator = byToken("shared_prefix", ({ group }) => {
  const baselinesGT = prefixBaselines(group)
  return (member, turn) => (group.rewardsG[member] ?? 0) - (baselinesGT[member]?.[turn] ?? 0)
}, {})

/** The sum of what a member's turns and its group reward reported under a metric name. */
const reported = (group: GroupResult.Group, member: number, trajectory: Trajectory.Trajectory, name: string) => {
  const reports: ReadonlyArray<EnvMetric.Metrics> = [
    ...trajectory.transitions.map(({ metrics }) => metrics),
    group.metricsG[member] ?? {}
  ]
  return reports.reduce((sum, metrics) => {
    const metric = metrics[name]
    if (metric === undefined) return sum
    return sum + (metric.kind === "rate" ? Number(metric.hit) : metric.value)
  }, 0)
}

/**
 * Aᵢ = Σ w·(cᵢ − mean(c)) / (std(c) + 10⁻⁶) over the reward's components c, with sample deviations, so the variance of one component does
 * not drown another. A component is a metric of the environment, and 0 if the environment does not report it. A run fails if no attempt in
 * its first iteration reports the metric, unless all attempts failed or were cut short. With `Credit.batchRelative` this is GDPO
 * (arXiv:2601.05242).
 *
 * @example
 * const gdpo = Credit.batchRelative(Advantage.decoupled({ correct: 1, format: 0.5 }))
 */
export const decoupled = (weights: Readonly<Record<string, number>>): Estimator => ({
  ...make("decoupled", ({ group }) => {
    const survivors = GroupResult.survivors(group)
    const advantagesG = new Float64Array(group.members.length)
    for (const [name, weight] of Object.entries(weights)) {
      const values = Float64Array.from(survivors, ([member, trajectory]) => reported(group, member, trajectory, name))
      const center = Statistics.mean(values)
      const scale = standardDeviation(values, "sample") + epsilon
      survivors.forEach(([member], index) => {
        advantagesG[member] = (advantagesG[member] ?? 0) + weight * ((values[index] ?? 0) - center) / scale
      })
    }
    return advantagesG
  }, { ...weights }),
  components: Object.keys(weights)
})

/** The rewards of a member's turns. The group reward is added to the last turn. */
const turnRewards = (group: GroupResult.Group, member: number, { stepReward, transitions }: Trajectory.Trajectory) => {
  const rewards = Float64Array.from(transitions, ({ reward }) => reward)
  const last = rewards.length - 1
  if (last >= 0) rewards[last] = (rewards[last] ?? 0) + (group.rewardsG[member] ?? 0) - stepReward
  return rewards
}

/** Discounted returns: each position's value plus the later values, multiplied by γ for every turn between them. */
const returns = (valuesT: Float64Array, gamma: number): Float64Array => {
  const sums = Float64Array.from(valuesT)
  for (let turn = sums.length - 2; turn >= 0; turn--) sums[turn] = (sums[turn] ?? 0) + gamma * (sums[turn + 1] ?? 0)
  return sums
}

/** An estimator of turn advantages: every token has the advantage of its turn. */
const byTurn = (
  name: string,
  ofTurns: (rewards: ReadonlyMap<number, Float64Array>) => (rewardsT: Float64Array) => Float64Array,
  config: JsonObject
): Estimator =>
  perToken(name, ({ group }) => {
    const rewards = new Map(
      GroupResult.survivors(group).map(([member, trajectory]) => [member, turnRewards(group, member, trajectory)])
    )
    const advantagesOf = ofTurns(rewards)
    const advantages = new Map(Array.from(rewards, ([member, rewardsT]) => [member, advantagesOf(rewardsT)]))
    return (member, turn) => advantages.get(member)?.[turn] ?? 0
  }, config)

/**
 * For each turn index, the mean over the members that took the turn. If only one member took it, the mean of the last turn that several
 * members took is used.
 */
const meansByTurn = (all: ReadonlyArray<Float64Array>): ReadonlyArray<number> => {
  const turns = Math.max(0, ...all.map(({ length }) => length))
  const means: Array<number> = []
  for (let turn = 0; turn < turns; turn++) {
    const values = all.flatMap((valuesT) => valuesT[turn] ?? [])
    means.push(values.length > 1 || turn === 0 ? Statistics.mean(values) : means[turn - 1] ?? 0)
  }
  return means
}

/**
 * Per turn: A = Σₖ γᵏ·r[t+k] − the mean of these returns over the members that took the turn, so a turn is credited only with its own and
 * later rewards. If only one member took the turn, the mean of the last turn that several members took is used. The rewards are those of
 * the environment's steps; the group reward is added to the last one. Default γ: 1. With single-turn episodes it equals `centered`.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.turnReturns({ gamma: 0.95 }))
 */
export const turnReturns = ({ gamma = 1 }: { readonly gamma?: number } = {}): Estimator => ({
  ...byTurn("turn_returns", (rewards) => {
    const means = meansByTurn(Array.from(rewards.values(), (rewardsT) => returns(rewardsT, gamma)))
    return (rewardsT) => returns(rewardsT, gamma).map((value, turn) => value - (means[turn] ?? 0))
  }, { gamma }),
  checks: [Check.option("update.credit.gamma", gamma, Check.number({ least: 0, most: 1 }))]
})

/**
 * Per turn: A = Σ of (r − mean(r)) / (std(r) + 10⁻⁶) over this and later turns, with mean and sample deviation over all turns of all
 * members: GRPO with process supervision (arXiv:2402.03300, §4.1.3). The rewards are those of the environment's steps, for example from a
 * judge that reads each step; the group reward is added to the last one.
 *
 * @example
 * const credit = Credit.groupRelative(Advantage.processRewards)
 */
export const processRewards: Estimator = byTurn("process_rewards", (rewards) => {
  const all = Float64Array.from(Array.from(rewards.values()).flatMap((rewardsT) => Array.from(rewardsT)))
  if (all.length === 0) return (rewardsT) => rewardsT
  const center = Statistics.mean(all)
  const scale = standardDeviation(all, "sample") + epsilon
  return (rewardsT) => returns(rewardsT.map((reward) => (reward - center) / scale), 1)
}, { epsilon })
