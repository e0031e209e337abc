/** Group relative policy optimization (GRPO): Shao et al. 2024, arXiv:2402.03300. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"
import type { KlSettings } from "../KlPenalty.ts"

/**
 * Aᵢ = (rᵢ − mean(r)) / std(r) within a group, with PPO's clipped ratio. The paper adds a KL penalty to the loss; here `kl` adds it to the
 * advantages, and without `kl` there is no penalty.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.grpo({ kl: { coefficient: 0.04 } }) })
 */
export const grpo = (options: { readonly kl?: KlSettings } = {}): Algorithm => ({
  update: {
    ...options,
    credit: Credit.groupRelative(Advantage.normalized("sample")),
    loss: Loss.ppo({ clipLow: 0.8, clipHigh: 1.2 })
  }
})
