/** REINFORCE with a leave-one-out baseline (RLOO): Ahmadian et al. 2024, arXiv:2402.14740. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"
import type { KlSettings } from "../KlPenalty.ts"

/**
 * Aᵢ = rᵢ − the mean reward of the other members, an unbiased baseline even in small groups. Uses the policy gradient without clipping,
 * because each batch is trained on once. The paper's reward includes a KL penalty: pass `kl` to add it.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.rloo({ kl: { coefficient: 0.05 } }) })
 */
export const rloo = (options: { readonly kl?: KlSettings } = {}): Algorithm => ({
  update: { ...options, credit: Credit.groupRelative(Advantage.leaveOneOut), loss: Loss.importanceSampling }
})
