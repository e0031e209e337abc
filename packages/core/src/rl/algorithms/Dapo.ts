/** Decoupled clip and dynamic sampling policy optimization (DAPO): Yu et al. 2025, arXiv:2503.14476. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { Algorithm } from "../Algorithm.ts"

/** The options of DAPO. */
export interface DapoOptions {
  /**
   * The number of informative groups (with differing rewards) per iteration; further batches are sampled to reach it. The paper uses a
   * whole batch.
   */
  readonly minInformative: number
  /** The maximum number of batches per iteration; default 3. */
  readonly maxBatches?: number
  /**
   * Soft overlong punishment: `maxTokens` is the longest response, as in `sampling.maxTokens`; over the last `buffer` tokens before it, the
   * reward falls by 1. If left out, there is no punishment.
   */
  readonly overlong?: { readonly maxTokens: number; readonly buffer: number }
}

/**
 * GRPO's advantages with four changes: the ratio's upper bound is 1.28 (clip-higher), groups without a signal are replaced (dynamic
 * sampling), every token has equal weight, and responses near the limit lose reward (soft overlong punishment). There is no KL penalty.
 *
 * @example
 * Rl.run({
 *   model,
 *   dataset,
 *   sampling: { maxTokens: 1024 },
 *   algorithm: Algorithm.dapo({ minInformative: 2, overlong: { maxTokens: 1024, buffer: 256 } })
 * })
 */
export const dapo = ({ overlong, ...dynamic }: DapoOptions): Algorithm<InvalidOption> => {
  const credit = Credit.groupRelative(Advantage.normalized("sample"))
  return {
    rollout: { dynamic },
    update: {
      credit: overlong === undefined ? credit : Credit.overlong(overlong)(credit),
      loss: Loss.ppo({ clipLow: 0.8, clipHigh: 1.28 })
    }
  }
}
