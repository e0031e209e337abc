/** REINFORCE++: Hu et al. 2025, arXiv:2501.03262. */
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"
import type { KlSettings } from "../KlPenalty.ts"

/**
 * Advantages are normalised over the tokens of the whole batch, not within groups, so one attempt per prompt is enough. Uses PPO's clipped
 * ratio. The paper's reward includes a KL penalty per token: pass `kl` to add it.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.reinforcePlusPlus({ kl: { coefficient: 0.01 } }) })
 */
export const reinforcePlusPlus = (options: { readonly kl?: KlSettings } = {}): Algorithm => ({
  update: { ...options, credit: Credit.batchRelative(), loss: Loss.ppo({ clipLow: 0.8, clipHigh: 1.2 }) }
})
