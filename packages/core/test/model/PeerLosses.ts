/** What other projects call a loss, as expressions: ours where ours is meant, theirs written down where conventions differ. */
import { LossTerm, PolicyLoss } from "@effect-rl/core"
import * as Clipped from "./peers/Clipped.ts"
import * as Corrected from "./peers/Corrected.ts"
import * as TrustRegion from "./peers/TrustRegion.ts"
import { boundsOf, type Expression, number, ours, type Parameters, text, written } from "./peers/Vocabulary.ts"

export type { Example } from "./peers/Vocabulary.ts"

const { mul, neg, sum } = LossTerm

/** The expression of a recorded kind; undefined where a loss is not of one datum. */
export const expressionOf = (kind: string, peer: string, parameters: Parameters): Expression | undefined => {
  const [low, high] = boundsOf(parameters)
  switch (kind) {
    case "importance_sampling":
      return peer === "SkyRL" ? ours(PolicyLoss.importanceSampling) : undefined
    case "cross_entropy":
      return written(({ logprobs, mask, weights }) => neg(sum(logprobs, mul(mask, weights))))
    case "ppo":
      return peer === "TRL" || peer === "SkyRL"
        ? written((inputs) => Clipped.ppo(peer, parameters, inputs))
        : ours(PolicyLoss.ppo({ clipLow: low, clipHigh: high }))
    case "ppo_dual_clip":
      return peer === "AReaL"
        ? ours(PolicyLoss.ppo({ clipLow: low, clipHigh: high, dualClip: number(parameters, "c_clip") }))
        : Clipped.dualClip(peer, parameters)
    case "gspo_token":
      return ours(PolicyLoss.gspo({ clipLow: low, clipHigh: high }))
    case "gspo_sequence":
    case "luspo":
      return Clipped.gspoSequence(parameters, "first")
    case "gspo_mean_advantage":
      return Clipped.gspoSequence(parameters, "mean")
    case "cispo":
      return Clipped.cispo(peer, parameters, false)
    case "cispo_masked":
      return Clipped.cispo(peer, parameters, true)
    case "icepop":
      return ours(PolicyLoss.icePop({ clipLow: low, clipHigh: high }))
    case "tis_reinforce":
      return ours(PolicyLoss.cispo({
        clipLow: number(parameters, "tis_lower_bound", 0),
        clipHigh: number(parameters, "tis_upper_bound", 1)
      }))
    case "topr":
      return Clipped.topr(parameters)
    case "dppo_tv":
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
      return Corrected.corrected(peer, parameters)
    case "ppo_off_policy_corrected":
      return Corrected.skyRlCorrection(parameters)
    case "ppo_decoupled_rejection":
      return Corrected.rejection(parameters)
    case "ppo_decoupled_approximate":
      return text(parameters, "method") === "linear"
        ? Corrected.linearDecoupled(parameters)
        : ours(PolicyLoss.decoupled({ clipLow: low, clipHigh: high }))
    case "ref_kl":
      return written((inputs) => sum(TrustRegion.refKl(inputs), mul(inputs.mask, inputs.weights)))
    case "mixed_components":
      return TrustRegion.mixture(parameters)
    case "iw_opd":
      return written(({ advantageOfTeacher, logprobs }) => neg(mul(advantageOfTeacher, logprobs)))
    default:
      return undefined
  }
}
