/** Where a loss of the backend's clips the importance ratio of a token. */
import type * as Loss from "../../model/Loss.ts"

/** Whether a loss uses its bound in place of a token's importance ratio. */
export type IsClipped = (ratio: number, advantage: number) => boolean

/** PPO clips only on the side where that lowers the objective; GSPO clips the ratio of a sequence, not of a token. */
export const clipping = (loss: Loss.Loss<"PolicyTokens">): IsClipped | undefined => {
  const { clip_high_threshold: high, clip_low_threshold: low } = loss.config
  if (loss.name === "gspo" || low === undefined || high === undefined) return undefined
  return loss.name === "ppo"
    ? (ratio, advantage) => (advantage > 0 && ratio > high) || (advantage < 0 && ratio < low)
    : (ratio) => ratio > high || ratio < low
}
