/** Maximum likelihood reinforcement learning (MaxRL), 2026, arXiv:2602.02710. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"

/**
 * Aᵢ = (rᵢ − mean(r)) / mean(r), for rewards of 0 and 1. Rarely solved problems get more weight, as when maximising the likelihood of right
 * answers. Uses the policy gradient without clipping.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.maxRl() })
 */
export const maxRl = (): Algorithm => ({
  update: { credit: Credit.groupRelative(Advantage.maxRl), loss: Loss.importanceSampling }
})
