/** Advantage estimators: how much better each member did than its group. */
import type { JsonObject } from "../record/Json.ts"
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
 * An estimator of one's own.
 *
 * @example
 * const raw = Advantage.make("raw", ({ group }) => Float32Array.from(group.rewardsG, (reward) => reward || 0))
 */
export const make = (name: string, of: Estimator["of"], config: JsonObject = {}): Estimator => ({ name, config, of })

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
 * Aᵢ = rᵢ − mean(r): the whole episode's advantage goes to each of its action tokens. Not divided by the standard deviation,
 * so that groups that are nearly all right or all wrong do not weigh more (Dr. GRPO, arXiv:2503.20783).
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
