/** Clipped importance sampling weights (CISPO): MiniMax-M1, 2025, arXiv:2506.13585. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { Algorithm } from "../Algorithm.ts"

/**
 * GRPO's advantages. The importance ratio weights each token's gradient and is clipped only from above, at 4, so every token keeps a
 * gradient.
 *
 * @example
 * Rl.run({ model, dataset, algorithm: Algorithm.cispo() })
 */
export const cispo = (): Algorithm => ({
  update: {
    credit: Credit.groupRelative(Advantage.normalized("sample")),
    loss: Loss.cispo({ clipLow: 0, clipHigh: 4 })
  }
})
