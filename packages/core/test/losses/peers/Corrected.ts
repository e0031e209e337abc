/** Losses of other projects that correct for the difference between sampler and proximal policy. */
import { PolicyLoss } from "@effect-rl/core"
import { LossTerm } from "@effect-rl/core/losses"
import {
  boundsOf,
  clipped,
  type Condition,
  difference,
  has,
  number,
  ours,
  type Parameters,
  type PerToken,
  record,
  text,
  written
} from "./Vocabulary.ts"

const { add, and, clamp, exp, ge, gt, le, log, lt, mean, mul, neg, or, square, stopGradient, sub, sum, where } =
  LossTerm

/** PPO with TRL's and slime's corrections for the difference between sampler and proximal policy. */
export const corrected = (peer: string, parameters: Parameters) => {
  const [clipLow, clipHigh] = boundsOf(parameters)
  const mode = peer === "slime" ? `token_${text(parameters, "tis")}` : text(parameters, "is_mode")
  const level = mode.startsWith("token") ? "token" as const : "sequence" as const
  const low = number(parameters, "is_clip_min", number(parameters, "tis_clip_low", 0))
  const high = number(parameters, "is_clip_max", number(parameters, "tis_clip"))
  return mode.endsWith("truncate")
    ? PolicyLoss.truncated({ clipLow, clipHigh, level, cap: high })
    : PolicyLoss.masked({ clipLow, clipHigh, level, low, high })
}

/** SkyRL's losses. With truncation alone they equal this library's. */
export const skyRl = (parameters: Parameters, drift: number) => {
  const { tis_ratio_type: level, ...options } = record(parameters["off_policy_correction"])
  const [clipLow, clipHigh] = boundsOf(parameters)
  const cap = number(options, `${String(level)}_tis_ratio_clip_high`)
  const isAlone = Object.keys(options).length === 1 && (level === "token" || level === "sequence") && drift <= 20
  return isAlone ? ours(PolicyLoss.truncated({ clipLow, clipHigh, level, cap })) : skyRlCorrection(parameters)
}

/** SkyRL's correction: outlier sequences, token masks, truncation, then sequence masks. */
const skyRlCorrection = (parameters: Parameters) =>
  written((inputs) => {
    const { advantages, logprobs, proximalLogprobs, samplerLogprobs } = inputs
    const options = record(parameters["off_policy_correction"])
    const [low, high] = boundsOf(parameters)
    const loss = clipped(exp(difference(20, logprobs, proximalLogprobs)), advantages, low, high)
    const distance = difference(20, proximalLogprobs, samplerLogprobs)
    const weight = exp(distance)
    const any = (condition: Condition) => gt(sum(where(condition, 1, 0)), 0)
    const outside = (value: PerToken, least: string, most: string): Condition =>
      or(
        has(options, least) ? lt(value, number(options, least)) : lt(value, -Infinity),
        has(options, most) ? gt(value, number(options, most)) : gt(value, Infinity)
      )
    const outlier = any(outside(weight, "outlier_token_is_threshold_low", "outlier_token_is_threshold_high"))
    const masked = outside(weight, "token_mask_is_threshold_low", "token_mask_is_threshold_high")
    const product = exp(clamp(sum(distance), { low: -20, high: 20 }))
    const ratio = text(options, "tis_ratio_type")
    const truncated = ratio === "token"
      ? clamp(weight, { high: number(options, "token_tis_ratio_clip_high") })
      : ratio === "sequence"
      ? clamp(product, { high: number(options, "sequence_tis_ratio_clip_high") })
      : 1
    const metric = text(options, "sequence_mask_metric")
    const sequence = metric === "geometric" ? exp(mean(distance)) : product
    const name = metric === "geometric" ? "geo" : "product"
    const isDropped = metric === "undefined"
      ? lt(sequence, -1)
      : or(lt(sequence, number(options, `${name}_mask_low`)), gt(sequence, number(options, `${name}_mask_high`)))
    return where(or(or(outlier, isDropped), masked), 0, mul(stopGradient(truncated), loss))
  })

/** AReaL's losses. Its ratio masks of tokens equal this library's. */
export const areal = (parameters: Parameters) => {
  const options = record(parameters["rejection_sampling"])
  const [clipLow, clipHigh] = boundsOf(parameters)
  const [low, high] = [number(options, "lower", 0), number(options, "upper", Infinity)]
  return text(options, "level") === "token" && text(options, "action") === "mask" && text(options, "metric") === "ratio"
    ? ours(PolicyLoss.masked({ clipLow, clipHigh, level: "token", low, high }))
    : rejection(parameters)
}

/** AReaL's rejection or clamping by a measure of the distance between proximal policy and sampler. */
const rejection = (parameters: Parameters) =>
  written((inputs) => {
    const { advantages, logprobs, proximalLogprobs, samplerLogprobs } = inputs
    const options = record(parameters["rejection_sampling"])
    const [low, high] = boundsOf(parameters)
    const loss = clipped(exp(sub(logprobs, proximalLogprobs)), advantages, low, high)
    const distance = sub(proximalLogprobs, samplerLogprobs)
    const metric = text(options, "metric")
    const measure: PerToken = metric === "ratio"
      ? exp(distance)
      : metric === "kl_k1"
      ? distance
      : metric === "kl_k2"
      ? mul(0.5, square(distance))
      : sub(sub(exp(distance), 1), distance)
    const [least, most] = [number(options, "lower", -Infinity), number(options, "upper", Infinity)]
    const isWithin = (value: PerToken) => and(ge(value, least), le(value, most))
    const weight = exp(distance)
    if (text(options, "level") === "token") {
      return text(options, "action") === "clamp"
        ? mul(clamp(weight, { low: least, high: most }), loss)
        : where(isWithin(measure), mul(weight, loss), 0)
    }
    const aggregate = text(options, "agg")
    const geometric = exp(mean(distance))
    const isKept = aggregate === "max"
      ? le(sum(where(le(measure, most), 0, 1)), 0)
      : aggregate === "sum"
      ? and(ge(sum(measure), least), le(sum(measure), most))
      : metric === "ratio"
      ? and(ge(geometric, least), le(geometric, most))
      : and(ge(mean(measure), least), le(mean(measure), most))
    return where(isKept, mul(metric === "ratio" ? geometric : weight, loss), 0)
  })

/** AReaL's other approximation, in which the proximal policy is a mixture of probabilities. */
export const linearDecoupled = (parameters: Parameters) =>
  written(({ advantages, alpha, logprobs, samplerLogprobs }) => {
    const [low, high] = boundsOf(parameters)
    const mixed = add(mul(sub(1, alpha), exp(samplerLogprobs)), mul(alpha, exp(logprobs)))
    const proximal = stopGradient(log(mixed))
    return mul(
      exp(sub(proximal, samplerLogprobs)),
      clipped(exp(sub(logprobs, proximal)), advantages, low, high)
    )
  })

export const vespoOptions = (parameters: Parameters) => ({
  kPositive: number(parameters, "vespo_k_pos", 2),
  lambdaPositive: number(parameters, "vespo_lambda_pos", 3),
  kNegative: number(parameters, "vespo_k_neg", 3),
  lambdaNegative: number(parameters, "vespo_lambda_neg", 2)
})

/** TRL's VESPO adds the corrected ratio of the sampler, over all positions, to the sequence's log-ratio. */
export const vespoOfThree = (parameters: Parameters) =>
  written(({ advantages, logprobs, proximalLogprobs, samplerLogprobs }) => {
    const high = number(parameters, "is_clip_max")
    const correction = exp(sub(proximalLogprobs, samplerLogprobs))
    const bounded = text(parameters, "is_mode") === "token_truncate"
      ? clamp(correction, { high })
      : where(le(correction, high), correction, 0)
    const least = Math.log(1e-8)
    const logCorrection = clamp(log(LossTerm.maximum(bounded, 1e-8)), { low: least, high: 20 })
    const drift = clamp(sub(logprobs, proximalLogprobs), { low: -20, high: 20 })
    const logWeight = clamp(add(sum(drift), sum(logCorrection)), { low: least, high: 20 })
    const { kNegative, kPositive, lambdaNegative, lambdaPositive } = vespoOptions(parameters)
    const isGood = ge(advantages, 0)
    const [k, lambda] = [where(isGood, kPositive, kNegative), where(isGood, lambdaPositive, lambdaNegative)]
    const phi = exp(sub(add(lambda, mul(k, logWeight)), mul(lambda, exp(logWeight))))
    return neg(mul(stopGradient(phi), advantages, logprobs))
  })
