/** Group sequence policy optimization (GSPO): Zheng et al. 2025, arXiv:2507.18071. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"

/**
 * GRPO's advantages. The clipped ratio is that of the whole sequence, the geometric mean of its tokens' ratios, between 1 − 3·10⁻⁴ and 1 +
 * 4·10⁻⁴. Intended for mixture-of-experts models, whose token ratios vary strongly.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.gspo() })
 */
export const gspo = (): Algorithm => ({
  update: {
    credit: Credit.groupRelative(Advantage.normalized("sample")),
    loss: Loss.gspo({ clipLow: 0.9997, clipHigh: 1.0004 })
  }
})
