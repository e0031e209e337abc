/** Advantage estimators: how much better each member did than its group. */
import * as Trajectory from "../env/Trajectory.ts"
import type { JsonObject } from "../record/Json.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import type { InformativeGroup } from "./Signal.ts"

/**
 * An estimator with the name and configuration that identify it in a run's records.
 *
 * @see tinker-cookbook `compute_advantages`
 */
export interface Estimator {
  readonly name: string
  /** What distinguishes it from others of its name; part of the run's identity. */
  readonly config: JsonObject
  /** One finite float32 advantage per member `[G]`; 0 for members that were dropped. */
  readonly of: (group: InformativeGroup) => Float32Array
}

/**
 * A custom estimator. `rewardsG` is NaN where a member was dropped.
 *
 * @example
 * const sign = Advantage.make("sign", ({ group }) => Float32Array.from(group.rewardsG, (reward) => Math.sign(reward) || 0))
 */
export const make = (name: string, of: Estimator["of"], config: JsonObject = {}): Estimator => ({ name, config, of })

/**
 * The reward itself: Aᵢ = rᵢ (REINFORCE, Williams 1992). Within one group every member is pushed up where all rewards are
 * positive, so this is for credit that compares across groups, such as `Credit.whitened`.
 */
export const reward: Estimator = make(
  "reward",
  ({ group }) => Float32Array.from(group.rewardsG, (reward) => Number.isNaN(reward) ? 0 : reward)
)

/** Float32 rewards `[G]` less their mean over the members that finished. */
const center = (rewards: Float64Array) => {
  const rewardsG = Float32Array.from(rewards)
  const finished = rewardsG.filter((reward) => !Number.isNaN(reward))
  const mean = Math.fround(finished.reduce((sum, reward) => sum + reward, 0) / finished.length)
  return {
    finished: finished.length,
    centeredG: rewardsG.map((reward) => Number.isNaN(reward) ? 0 : reward - mean)
  }
}

/**
 * Aᵢ = rᵢ − mean(r): the advantage of Dr. GRPO (arXiv:2503.20783). Not divided by the standard deviation, so that groups that are
 * nearly all right or all wrong do not weigh more.
 */
export const centered: Estimator = make("centered", ({ group }) => center(group.rewardsG).centeredG)

/**
 * Aᵢ = rᵢ − mean of the others' rewards = G/(G−1)·(rᵢ − mean(r)). Unbiased, as a member's baseline does not depend on the
 * member (RLOO, arXiv:2402.14740).
 */
export const leaveOneOut: Estimator = make("leave_one_out", ({ group }) => {
  const { centeredG, finished } = center(group.rewardsG)
  const scale = finished > 1 ? finished / (finished - 1) : 1
  return centeredG.map((advantage) => advantage * scale)
})

/** Added to a standard deviation before dividing by it. */
const epsilon = 1e-6

/** The members' advantages in float64, by a rule that is given the rewards of those that finished. */
const fromFinished = (
  { group }: InformativeGroup,
  rule: (finished: Float64Array) => (reward: number) => number
): Float32Array => {
  const advantageOf = rule(group.rewardsG.filter((reward) => !Number.isNaN(reward)))
  return Float32Array.from(group.rewardsG, (reward) => Number.isNaN(reward) ? 0 : advantageOf(reward))
}

const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0)

const mean = (values: Float64Array) => sum(values) / values.length

/** The standard deviation with divisor n − 1 ("sample") or n ("population"); 0 for a single value. */
const standardDeviation = (values: Float64Array, deviation: Deviation) => {
  const center = mean(values)
  const squares = sum(values.map((value) => (value - center) ** 2))
  return Math.sqrt(squares / Math.max(1, deviation === "sample" ? values.length - 1 : values.length))
}

export type Deviation = "sample" | "population"

/**
 * Aᵢ = (rᵢ − mean(r)) / (std(r) + 10⁻⁶): the advantage of GRPO (arXiv:2402.03300). The sample deviation (divisor G−1) is what
 * TRL, verl and SkyRL divide by; the population deviation has divisor G.
 */
export const normalized = (deviation: Deviation = "sample"): Estimator =>
  make("normalized", (informative) =>
    fromFinished(informative, (finished) => {
      const center = mean(finished)
      const scale = standardDeviation(finished, deviation) + epsilon
      return (reward) => (reward - center) / scale
    }), { deviation, epsilon })

/**
 * Aᵢ = (rᵢ − mean(r)) / mean(r), and 0 where the mean is not positive. With rewards of 0 and 1, expands the log-likelihood of
 * success instead of its probability, so that problems that are rarely solved weigh more (MaxRL, arXiv:2602.02710).
 */
export const maxRl: Estimator = make("max_rl", (informative) =>
  fromFinished(informative, (finished) => {
    const center = mean(finished)
    return (reward) => center > 0 ? (reward - center) / center : 0
  }))

/**
 * Aᵢ = rᵢ − Σ lⱼrⱼ / Σ lⱼ with lⱼ the action tokens of member j: the baseline of least variance where the squared norm of a
 * member's gradient grows with its length (OPO, arXiv:2505.23585).
 */
export const lengthWeighted: Estimator = make("length_weighted", (informative) => {
  const finished = GroupResult.survivors(informative.group).map(([member, trajectory]) => ({
    reward: informative.group.rewardsG[member] ?? 0,
    length: Trajectory.actionTokens(trajectory)
  }))
  const total = finished.reduce((sum, { length }) => sum + length, 0)
  const weighted = finished.reduce((sum, { length, reward }) => sum + length * reward, 0)
  return fromFinished(informative, (rewards) => {
    const baseline = total > 0 ? weighted / total : mean(rewards)
    return (reward) => reward - baseline
  })
})

/**
 * A of the best member = its reward less the second best's, 0 for the others: the gradient of the largest reward of the group,
 * which is pass@k with k the group's size (arXiv:2503.19595). Equal best members cancel, and the group trains nothing.
 */
export const bestOfGroup: Estimator = make("best_of_group", (informative) =>
  fromFinished(informative, (finished) => {
    const [best = 0, second = best] = finished.toSorted().toReversed()
    return (reward) => reward === best ? best - second : 0
  }))
