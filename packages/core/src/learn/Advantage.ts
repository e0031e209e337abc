/** How much better each member did than its group. */
import type { InformativeGroup } from "./Signal.ts"

/** One advantage per member `[G]`, float32 and finite; 0 for members that were dropped. */
export type Estimator = (group: InformativeGroup) => Float32Array

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
 *
 * @see tinker-cookbook `compute_advantages`
 */
export const centered: Estimator = ({ group }) => center(group.rewardsG).centeredG

/**
 * Aᵢ = rᵢ − mean of the others' rewards = G/(G−1)·(rᵢ − mean(r)), given to each action token of the episode. Unbiased, as a
 * member's baseline does not depend on the member (RLOO, arXiv:2402.14740).
 */
export const leaveOneOut: Estimator = ({ group }) => {
  const { centeredG, finished } = center(group.rewardsG)
  const scale = finished > 1 ? finished / (finished - 1) : 1
  return centeredG.map((advantage) => advantage * scale)
}
