/** Other projects' losses that drop tokens whose probability has moved too far. */
import { LossTerm } from "@effect-rl/core/losses"
import { type Condition, type Inputs, number, type Parameters, type PerToken, ratioOf, written } from "./Vocabulary.ts"

const {
  abs,
  add,
  and,
  clamp,
  div,
  exp,
  ge,
  gt,
  le,
  log,
  lt,
  mul,
  neg,
  not,
  or,
  square,
  stopGradient,
  sub,
  sum,
  where
} = LossTerm

/** How far the token's probability has moved. */
const shift = ({ logprobs, samplerLogprobs }: Inputs) => sub(exp(logprobs), exp(samplerLogprobs))

/** The KL divergence between two Bernoulli distributions with these probabilities. */
const binaryKl = ({ logprobs, samplerLogprobs }: Inputs): PerToken => {
  const [p, q] = [exp(logprobs), exp(samplerLogprobs)].map((value) => clamp(value, { low: 1e-7, high: 1 - 1e-7 }))
  if (p === undefined || q === undefined) return logprobs
  return add(mul(q, log(div(q, p))), mul(sub(1, q), log(div(sub(1, q), sub(1, p)))))
}

const directed = (inputs: Inputs, low: number, high: number, divergence: "tv" | "kl"): Condition => {
  const p = shift(inputs)
  const [up, down] = divergence === "tv"
    ? [gt(p, high), lt(p, -low)]
    : [and(gt(p, 0), gt(binaryKl(inputs), high)), and(lt(p, 0), gt(binaryKl(inputs), low))]
  return not(or(and(gt(inputs.advantages, 0), up), and(le(inputs.advantages, 0), down)))
}

export const dppo = (peer: string, parameters: Parameters, divergence: "tv" | "kl") =>
  written((inputs) => {
    const low = number(parameters, "delta_low", number(parameters, "clip_ratio_low"))
    const high = number(parameters, "delta_high", number(parameters, "clip_ratio_high"))
    const keep = directed(inputs, low, high, divergence)
    const ratio = ratioOf(peer, inputs)
    if (peer === "SkyRL") return where(keep, neg(mul(ratio, inputs.advantages)), 0)
    const capped = clamp(ratio, { high: number(parameters, "clip_ratio_c") })
    return neg(mul(stopGradient(where(keep, capped, 0)), inputs.advantages, inputs.logprobs))
  })

export const primeDppo = (parameters: Parameters, inputs: Inputs, isOutside?: Condition): PerToken => {
  const { advantages, logprobs, mask, samplerLogprobs } = inputs
  const outside = isOutside
    ?? not(
      directed(inputs, number(parameters, "dppo_mask_low"), number(parameters, "dppo_mask_high"), "tv")
    )
  const ratio = exp(sub(logprobs, samplerLogprobs))
  const policy = where(or(outside, le(mask, 0)), 0, neg(mul(number(parameters, "adv_tau"), advantages, ratio)))
  return add(policy, mul(number(parameters, "kl_tau"), square(sub(logprobs, samplerLogprobs))))
}

export const refKl = (inputs: Inputs): PerToken => {
  const { logprobs, referenceLogprobs, samplerLogprobs } = inputs
  const isKept = ge(shift(inputs), -0.2)
  const gain = stopGradient(sub(referenceLogprobs, logprobs))
  const reward = mul(gain, exp(sub(logprobs, samplerLogprobs)))
  return add(where(isKept, neg(reward), 0), mul(1e-3, square(sub(logprobs, samplerLogprobs))))
}

export const mixture = (parameters: Parameters) =>
  written((inputs) => {
    const component = (loss: PerToken, weights: PerToken, scale: string) =>
      div(sum(loss, weights), number(parameters, scale))
    return add(
      component(primeDppo(parameters, inputs), mul(inputs.rlWeights, where(gt(inputs.mask, 0), 1, 0)), "rl_scale"),
      component(neg(inputs.logprobs), inputs.ceWeights, "ce_scale"),
      component(refKl(inputs), inputs.refKlWeights, "ref_kl_scale")
    )
  })

export const trustRegionWeighted = (parameters: Parameters) =>
  written((inputs) =>
    sum(primeDppo(parameters, inputs, gt(abs(shift(inputs)), number(parameters, "ipo_threshold"))), inputs.weights)
  )
