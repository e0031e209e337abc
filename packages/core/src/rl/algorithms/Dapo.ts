/** Decoupled clip and dynamic sampling policy optimization (DAPO): Yu et al. 2025, arXiv:2503.14476. */
import * as Advantage from "../../learn/Advantage.ts"
import * as Credit from "../../learn/Credit.ts"
import * as Loss from "../../model/Loss.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { Algorithm } from "../Algorithm.ts"

/** What DAPO has to know of a run. */
export interface DapoOptions {
  /** Groups with attempts of different reward per iteration, for which it samples further batches: a whole batch in the paper. */
  readonly minInformative: number
  /** Most batches that an iteration takes for them; 3 unless given. */
  readonly maxBatches?: number
  /** Longest response in tokens, `sampling.maxTokens`, and the tokens before it over which the reward falls by 1; unpunished unless given. */
  readonly overlong?: { readonly maxTokens: number; readonly buffer: number }
}

/**
 * GRPO's advantages with four changes: the ratio's upper bound is 1.28 (clip-higher); groups without a signal are replaced (dynamic
 * sampling); every token counts the same; responses near the limit lose reward (soft overlong punishment). No KL penalty.
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
