/** Losses of other projects that bound the ratio, its weight or the whole of a sequence. */
import { LossTerm } from "@effect-rl/core"
import { boundsOf, type Inputs, number, type Parameters, type PerToken, ratioOf, written } from "./Vocabulary.ts"

const { add, and, clamp, div, exp, gt, lt, mean, minimum, mul, neg, or, sigmoid, stopGradient, sub, sum, where } =
  LossTerm

export const ppo = (peer: string, parameters: Parameters, inputs: Inputs): PerToken => {
  const [low, high] = boundsOf(parameters)
  const ratio = ratioOf(peer, inputs)
  const cap = number(parameters, "delta", Infinity)
  const free = cap === Infinity ? ratio : clamp(ratio, { high: cap })
  const bounded = clamp(ratio, { low, high })
  return neg(minimum(mul(free, inputs.advantages), mul(bounded, inputs.advantages)))
}

export const dualClip = (peer: string, parameters: Parameters) => {
  const c = ["clip_ratio_c", "c_clip", "eps_clip_c"].map((name) => number(parameters, name))
    .find((value) => !Number.isNaN(value)) ?? 1 + 2 * number(parameters, "pg_clip")
  return written((inputs) => {
    const loss = ppo(peer, parameters, inputs)
    return where(lt(inputs.advantages, 0), minimum(loss, neg(mul(c, inputs.advantages))), loss)
  })
}

export const gspoSequence = (parameters: Parameters, level: "first" | "mean") =>
  written(({ advantages, logprobs, samplerLogprobs }) => {
    const [low, high] = boundsOf(parameters)
    const ratio = exp(mean(sub(logprobs, samplerLogprobs)))
    const advantage: PerToken = level === "first" ? advantages : add(mul(0, advantages), mean(advantages))
    return neg(minimum(mul(ratio, advantage), mul(clamp(ratio, { low, high }), advantage)))
  })

export const sapoSequence = (parameters: Parameters) =>
  written(({ advantages, logprobs, samplerLogprobs }) => {
    const ratio = exp(mean(sub(logprobs, samplerLogprobs)))
    const advantage: PerToken = add(mul(0, advantages), mean(advantages))
    const tau = where(gt(advantage, 0), number(parameters, "tau_pos"), number(parameters, "tau_neg"))
    return neg(mul(div(4, tau), sigmoid(mul(tau, sub(ratio, 1))), advantage))
  })

const cispoBounds = (peer: string, parameters: Parameters): readonly [low: number, high: number] => {
  if (peer === "TRL") return [-Infinity, number(parameters, "epsilon_high")]
  return peer === "SkyRL"
    ? [1 - number(parameters, "cispo_eps_clip_low"), 1 + number(parameters, "cispo_eps_clip_high")]
    : boundsOf(parameters)
}

export const cispo = (peer: string, parameters: Parameters, isMasked: boolean) =>
  written((inputs) => {
    const [low, high] = cispoBounds(peer, parameters)
    const ratio = ratioOf(peer, inputs)
    const weight = low === -Infinity ? clamp(ratio, { high }) : clamp(ratio, { low, high })
    const loss = neg(mul(stopGradient(weight), inputs.advantages, inputs.logprobs))
    const isClipped = or(
      and(gt(inputs.advantages, 0), gt(ratio, high)),
      and(lt(inputs.advantages, 0), lt(ratio, low))
    )
    return isMasked ? where(isClipped, 0, loss) : loss
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

/** verl divides by the token count and 10⁻⁸. */
export const verlGmpo = (epsilon: number) =>
  written(({ advantages, logprobs, mask, samplerLogprobs }) => {
    const direction = LossTerm.sign(advantages)
    const d = sub(logprobs, samplerLogprobs)
    const least = minimum(mul(direction, d), mul(direction, clamp(d, { low: -epsilon, high: epsilon })))
    const count = add(sum(mask), 1e-8)
    return neg(mul(div(sum(advantages), count), exp(div(sum(mul(direction, least)), count))))
  })
