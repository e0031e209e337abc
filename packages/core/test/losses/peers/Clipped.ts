/** Losses of other projects that limit the ratio, its weight or a whole sequence. */
import { LossTerm } from "@effect-rl/core/losses"
import { boundsOf, number, type Parameters, type PerToken, ratioOf, written } from "./Vocabulary.ts"

const { add, and, clamp, div, exp, gt, lt, mean, minimum, mul, neg, or, sigmoid, stopGradient, sub, sum, where } =
  LossTerm

/** c of PPO with dual clip. */
export const dualClip = (parameters: Parameters): number =>
  ["clip_ratio_c", "c_clip", "eps_clip_c"].map((name) => number(parameters, name))
    .find((value) => !Number.isNaN(value)) ?? 1 + 2 * number(parameters, "pg_clip")

/** GSPO with the sequence's mean advantage. */
export const gspoOfMean = (parameters: Parameters) =>
  written(({ advantages, logprobs, samplerLogprobs }) => {
    const [low, high] = boundsOf(parameters)
    const ratio = exp(mean(sub(logprobs, samplerLogprobs)))
    const advantage: PerToken = add(mul(0, advantages), mean(advantages))
    return neg(minimum(mul(ratio, advantage), mul(clamp(ratio, { low, high }), advantage)))
  })

export const sapoSequence = (parameters: Parameters) =>
  written(({ advantages, logprobs, samplerLogprobs }) => {
    const ratio = exp(mean(sub(logprobs, samplerLogprobs)))
    const advantage: PerToken = add(mul(0, advantages), mean(advantages))
    const tau = where(gt(advantage, 0), number(parameters, "tau_pos"), number(parameters, "tau_neg"))
    return neg(mul(div(4, tau), sigmoid(mul(tau, sub(ratio, 1))), advantage))
  })

/** The bounds of CISPO. A ratio is positive, so a missing lower bound is 0. */
export const cispoBounds = (peer: string, parameters: Parameters): readonly [low: number, high: number] => {
  if (peer === "TRL") return [0, number(parameters, "epsilon_high")]
  return peer === "SkyRL"
    ? [1 - number(parameters, "cispo_eps_clip_low"), 1 + number(parameters, "cispo_eps_clip_high")]
    : boundsOf(parameters)
}

/** CISPO without the tokens that PPO would clip. */
export const maskedCispo = (peer: string, parameters: Parameters) =>
  written((inputs) => {
    const [low, high] = cispoBounds(peer, parameters)
    const ratio = ratioOf(peer, inputs)
    const loss = neg(mul(stopGradient(clamp(ratio, { low, high })), inputs.advantages, inputs.logprobs))
    const isClipped = or(
      and(gt(inputs.advantages, 0), gt(ratio, high)),
      and(lt(inputs.advantages, 0), lt(ratio, low))
    )
    return where(isClipped, 0, loss)
  })

export const topr = (parameters: Parameters) =>
  written(({ advantages, logprobs, samplerLogprobs, score }) => {
    const tapered = mul(
      number(parameters, "topr_negative_weight", 1),
      clamp(exp(sub(logprobs, samplerLogprobs)), { low: 0, high: 1 })
    )
    const weight = where(gt(score, 0), number(parameters, "topr_positive_weight", 1), tapered)
    return neg(mul(stopGradient(weight), advantages, logprobs))
  })

/** GMPO of verl, which divides by the token count plus 10⁻⁸. */
export const verlGmpo = (epsilon: number) =>
  written(({ advantages, logprobs, mask, samplerLogprobs }) => {
    const direction = LossTerm.sign(advantages)
    const d = sub(logprobs, samplerLogprobs)
    const least = minimum(mul(direction, d), mul(direction, clamp(d, { low: -epsilon, high: epsilon })))
    const count = add(sum(mask), 1e-8)
    return neg(mul(div(sum(advantages), count), exp(div(sum(mul(direction, least)), count))))
  })
