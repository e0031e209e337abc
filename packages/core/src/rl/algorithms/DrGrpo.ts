/** GRPO without its biases (Dr. GRPO): Liu et al. 2025, arXiv:2503.20783. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"

/**
 * Aᵢ = rᵢ − mean(r). The advantage is not divided by the standard deviation, which would favour groups that are nearly all right or all
 * wrong. The loss is not divided by the response length, which would favour long wrong responses. Uses PPO's clipped ratio and no KL
 * penalty.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.drGrpo() })
 */
export const drGrpo = (): Algorithm => ({
  update: {
    credit: Credit.groupRelative(Advantage.centered),
    loss: Loss.ppo({ clipLow: 0.8, clipHigh: 1.2 })
  }
})
