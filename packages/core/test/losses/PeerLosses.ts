/**
 * Expressions for the losses of other projects: this library's if they are the same, otherwise written out with that project's conventions.
 */
import { PolicyLoss } from "@effect-rl/core"
import { LossTerm } from "@effect-rl/core/losses"
import * as Clipped from "./peers/Clipped.ts"
import * as Corrected from "./peers/Corrected.ts"
import * as TrustRegion from "./peers/TrustRegion.ts"
import { boundsOf, type Expression, has, number, ours, type Parameters, text, written } from "./peers/Vocabulary.ts"

export { type Example, isOurs } from "./peers/Vocabulary.ts"

const { mul, neg, sum } = LossTerm

/** A recorded kind with its parameters and the largest log-ratio in its data. verl and SkyRL limit the log-ratio to 20. */
export interface Named {
  readonly kind: string
  readonly peer: string
  readonly parameters: Parameters
  readonly drift: number
  /** Whether every advantage has the sign of its episode's score. */
  readonly isScoredBySign: boolean
}

/** The expression of a recorded kind; undefined if the loss needs more than one datum. */
export const expressionOf = ({ drift, isScoredBySign, kind, parameters, peer }: Named): Expression | undefined => {
  const [low, high] = boundsOf(parameters)
  switch (kind) {
    case "importance_sampling":
      return peer === "SkyRL" ? ours(PolicyLoss.importanceSampling) : undefined
    case "cross_entropy":
      return written(({ logprobs, mask, weights }) => neg(sum(logprobs, mul(mask, weights))))
    case "ppo":
      return ours(PolicyLoss.ppo({
        clipLow: low,
        clipHigh: high,
        ...(has(parameters, "delta") ? { dualClip: number(parameters, "delta") } : {})
      }))
    case "ppo_dual_clip":
      return ours(PolicyLoss.ppo({ clipLow: low, clipHigh: high, dualClip: Clipped.dualClip(parameters) }))
    case "gspo_token":
    case "gspo_sequence":
    case "luspo":
      return ours(PolicyLoss.gspo({ clipLow: low, clipHigh: high }))
    case "gspo_mean_advantage":
      return Clipped.gspoOfMean(parameters)
    case "cispo": {
      const [clipLow, clipHigh] = Clipped.cispoBounds(peer, parameters)
      return ours(PolicyLoss.cispo({ clipLow, clipHigh }))
    }
    case "cispo_masked":
      return Clipped.maskedCispo(peer, parameters)
    case "icepop":
      return ours(PolicyLoss.icePop({ clipLow: low, clipHigh: high }))
    case "tis_reinforce":
      return ours(PolicyLoss.cispo({
        clipLow: number(parameters, "tis_lower_bound", 0),
        clipHigh: number(parameters, "tis_upper_bound", 1)
      }))
    case "topr":
      return has(parameters, "topr_positive_weight") || !isScoredBySign
        ? Clipped.topr(parameters)
        : ours(PolicyLoss.topr)
    case "dppo_tv": {
      if (drift > 20) return TrustRegion.dppo(peer, parameters, "tv")
      const [deltaLow, deltaHigh] = [number(parameters, "delta_low"), number(parameters, "delta_high")]
      return ours(PolicyLoss.dppo({ deltaLow, deltaHigh, tau: 0 }))
    }
    case "dppo_tv_tis":
      return TrustRegion.dppo(peer, parameters, "tv")
    case "dppo_kl":
    case "dppo_kl_tis":
      return TrustRegion.dppo(peer, parameters, "kl")
    case "dppo_tv_kl":
      return written((inputs) => sum(TrustRegion.primeDppo(parameters, inputs), inputs.weights))
    case "ipo_trust_region":
      return TrustRegion.trustRegionWeighted(parameters)
    case "sapo": {
      const positive = number(parameters, "tau_pos", number(parameters, "sapo_temperature_pos"))
      const negative = number(parameters, "tau_neg", number(parameters, "sapo_temperature_neg"))
      return ours(PolicyLoss.sapo({ tauPositive: positive, tauNegative: negative }))
    }
    case "sapo_sequence":
      return Clipped.sapoSequence(parameters)
    case "vespo":
      return ours(PolicyLoss.vespo(Corrected.vespoOptions(parameters)))
    case "vespo_three_policies":
      return Corrected.vespoOfThree(parameters)
    case "gmpo":
      return peer === "verl" ? Clipped.verlGmpo(1 - low) : ours(PolicyLoss.gmpo({ epsilon: 1 - low }))
    case "dro":
      return ours(PolicyLoss.dro({ beta: number(parameters, "dro_beta") }))
    case "opsm_ppo": {
      const delta = number(parameters, "opsm_delta", number(parameters, "off_policy_mask_threshold"))
      return ours(PolicyLoss.opsm({ clipLow: low, clipHigh: high, delta }))
    }
    case "ppo_tis_mis":
    case "ppo_tis_icepop":
      return ours(Corrected.corrected(peer, parameters))
    case "ppo_off_policy_corrected":
      return Corrected.skyRl(parameters, drift)
    case "ppo_decoupled_rejection":
      return Corrected.areal(parameters)
    case "ppo_decoupled_approximate":
      return text(parameters, "method") === "linear"
        ? Corrected.linearDecoupled(parameters)
        : ours(PolicyLoss.decoupled({ clipLow: low, clipHigh: high }))
    case "ref_kl":
      return written((inputs) => sum(TrustRegion.refKl(inputs), mul(inputs.mask, inputs.weights)))
    case "mixed_components":
      return TrustRegion.mixture(parameters)
    case "iw_opd":
      return ours(PolicyLoss.cispo({ clipLow: 1, clipHigh: 1 }))
    default:
      return undefined
  }
}
