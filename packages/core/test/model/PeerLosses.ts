/** What other projects call a loss, as expressions: ours where ours is meant, theirs written down where conventions differ. */
import { LossExpression, LossTerm, PolicyLoss } from "@effect-rl/core"

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
  mean,
  minimum,
  mul,
  neg,
  not,
  or,
  sigmoid,
  square,
  stopGradient,
  sub,
  sum,
  where
} = LossTerm

type PerToken = LossTerm.Term<"token", "number">
type PerSequence = LossTerm.Term<"sequence", "number">
type Condition = LossTerm.Term<"token", "boolean">
type Parameters = Readonly<Record<string, unknown>>

/** Every extra that a recorded sequence may have; an expression reads those it needs. */
const extras = {
  proximalLogprobs: "token",
  referenceLogprobs: "token",
  alpha: "token",
  weights: "token",
  ceWeights: "token",
  refKlWeights: "token",
  rlWeights: "token",
  advantageOfTeacher: "token",
  score: "sequence"
} as const

export type Expression = LossExpression.LossExpression<typeof extras>
export type Example = LossExpression.Example<typeof extras>

type Inputs = LossExpression.Inputs<typeof extras>

const written = (body: (inputs: Inputs) => PerToken | PerSequence): Expression =>
  LossExpression.make("peer", { extras }, body)

/** The same expression for data that have extras. */
const ours = <X extends LossExpression.Extras>({ body }: LossExpression.LossExpression<X>): Expression =>
  LossExpression.make("ours", { extras }, () => body)

const number = (parameters: Parameters, name: string, otherwise = NaN): number => {
  const value = parameters[name]
  return typeof value === "number" ? value : otherwise
}

const text = (parameters: Parameters, name: string) => String(parameters[name])

const record = (value: unknown): Parameters => typeof value === "object" && value !== null ? { ...value } : {}

const has = (parameters: Parameters, name: string) => typeof parameters[name] === "number"

/** verl and SkyRL bound the log ratio by ±20, most others do not. */
const boundOf = (peer: string) => peer === "verl" || peer === "SkyRL" ? 20 : Infinity

const difference = (bound: number, left: PerToken, right: PerToken): PerToken =>
  bound === Infinity ? sub(left, right) : clamp(sub(left, right), { low: -bound, high: bound })

const clipped = (ratio: PerToken, advantages: PerToken, low: number, high: number): PerToken =>
  neg(minimum(mul(ratio, advantages), mul(clamp(ratio, { low, high }), advantages)))

const ratioOf = (peer: string, { logprobs, samplerLogprobs }: Inputs) =>
  exp(difference(boundOf(peer), logprobs, samplerLogprobs))

/** Bounds on the ratio, under the name each project gives them. */
const boundsOf = (parameters: Parameters): readonly [low: number, high: number] => {
  const low = ["clip_ratio_low", "eps_clip_low", "epsilon_low", "cispo_epsilon_low", "eps_clip", "pg_clip"]
    .map((name) => number(parameters, name)).find((value) => !Number.isNaN(value)) ?? 0.2
  const high = [
    "clip_ratio_high",
    "eps_clip_high",
    "eps_clip_higher",
    "epsilon_high",
    "cispo_epsilon_high",
    "eps_clip",
    "pg_clip"
  ].map((name) => number(parameters, name)).find((value) => !Number.isNaN(value)) ?? 0.2
  return [1 - low, 1 + high]
}

const ppo = (peer: string, parameters: Parameters, inputs: Inputs): PerToken => {
  const [low, high] = boundsOf(parameters)
  const ratio = ratioOf(peer, inputs)
  const cap = number(parameters, "delta", Infinity)
  const free = cap === Infinity ? ratio : clamp(ratio, { high: cap })
  const bounded = clamp(ratio, { low, high })
  return neg(minimum(mul(free, inputs.advantages), mul(bounded, inputs.advantages)))
}

const dualClip = (peer: string, parameters: Parameters) => {
  const c = ["clip_ratio_c", "c_clip", "eps_clip_c"].map((name) => number(parameters, name))
    .find((value) => !Number.isNaN(value)) ?? 1 + 2 * number(parameters, "pg_clip")
  return written((inputs) => {
    const loss = ppo(peer, parameters, inputs)
    return where(lt(inputs.advantages, 0), minimum(loss, neg(mul(c, inputs.advantages))), loss)
  })
}

/** p: how far the probability has moved. */
const shift = ({ logprobs, samplerLogprobs }: Inputs) => sub(exp(logprobs), exp(samplerLogprobs))

/** The divergence of two coins with these probabilities. */
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

const dppo = (peer: string, parameters: Parameters, divergence: "tv" | "kl") =>
  written((inputs) => {
    const low = number(parameters, "delta_low", number(parameters, "clip_ratio_low"))
    const high = number(parameters, "delta_high", number(parameters, "clip_ratio_high"))
    const keep = directed(inputs, low, high, divergence)
    const ratio = ratioOf(peer, inputs)
    if (peer === "SkyRL") return where(keep, neg(mul(ratio, inputs.advantages)), 0)
    const capped = clamp(ratio, { high: number(parameters, "clip_ratio_c") })
    return neg(mul(stopGradient(where(keep, capped, 0)), inputs.advantages, inputs.logprobs))
  })

const primeDppo = (parameters: Parameters, inputs: Inputs, isOutside?: Condition): PerToken => {
  const { advantages, logprobs, mask, samplerLogprobs } = inputs
  const outside = isOutside
    ?? not(
      directed(inputs, number(parameters, "dppo_mask_low"), number(parameters, "dppo_mask_high"), "tv")
    )
  const ratio = exp(sub(logprobs, samplerLogprobs))
  const policy = where(or(outside, le(mask, 0)), 0, neg(mul(number(parameters, "adv_tau"), advantages, ratio)))
  return add(policy, mul(number(parameters, "kl_tau"), square(sub(logprobs, samplerLogprobs))))
}

const refKl = (inputs: Inputs): PerToken => {
  const { logprobs, referenceLogprobs, samplerLogprobs } = inputs
  const isKept = ge(shift(inputs), -0.2)
  const gain = stopGradient(sub(referenceLogprobs, logprobs))
  const reward = mul(gain, exp(sub(logprobs, samplerLogprobs)))
  return add(where(isKept, neg(reward), 0), mul(1e-3, square(sub(logprobs, samplerLogprobs))))
}

const mixture = (parameters: Parameters) =>
  written((inputs) => {
    const component = (loss: PerToken, weights: PerToken, scale: string) =>
      div(sum(loss, weights), number(parameters, scale))
    return add(
      component(primeDppo(parameters, inputs), mul(inputs.rlWeights, where(gt(inputs.mask, 0), 1, 0)), "rl_scale"),
      component(neg(inputs.logprobs), inputs.ceWeights, "ce_scale"),
      component(refKl(inputs), inputs.refKlWeights, "ref_kl_scale")
    )
  })

const gspoSequence = (parameters: Parameters, level: "first" | "mean", count: "n" | "square" = "n") =>
  written(({ advantages, logprobs, mask, samplerLogprobs }) => {
    const [low, high] = boundsOf(parameters)
    const ratio = exp(mean(sub(logprobs, samplerLogprobs)))
    const advantage: PerToken = level === "first" ? advantages : add(mul(0, advantages), mean(advantages))
    const loss = neg(minimum(mul(ratio, advantage), mul(clamp(ratio, { low, high }), advantage)))
    return count === "n" ? loss : mul(sum(loss), sum(mask))
  })

const sapoSequence = (parameters: Parameters) =>
  written(({ advantages, logprobs, samplerLogprobs }) => {
    const ratio = exp(mean(sub(logprobs, samplerLogprobs)))
    const advantage: PerToken = add(mul(0, advantages), mean(advantages))
    const tau = where(gt(advantage, 0), number(parameters, "tau_pos"), number(parameters, "tau_neg"))
    return neg(mul(div(4, tau), sigmoid(mul(tau, sub(ratio, 1))), advantage))
  })

/** TRL's and slime's corrections of PPO by what lies between sampler and proximal policy. */
const corrected = (peer: string, parameters: Parameters) =>
  written((inputs) => {
    const { advantages, logprobs, proximalLogprobs, samplerLogprobs } = inputs
    const [low, high] = boundsOf(parameters)
    const loss = clipped(exp(difference(boundOf(peer), logprobs, proximalLogprobs)), advantages, low, high)
    const mode = peer === "slime" ? `token_${text(parameters, "tis")}` : text(parameters, "is_mode")
    const distance = sub(proximalLogprobs, samplerLogprobs)
    const minimumWeight = number(parameters, "is_clip_min", number(parameters, "tis_clip_low", 0))
    const maximumWeight = number(parameters, "is_clip_max", number(parameters, "tis_clip"))
    const weight = mode.startsWith("token") ? exp(distance) : exp(sum(distance))
    return mode.endsWith("truncate")
      ? mul(clamp(weight, { low: minimumWeight, high: maximumWeight }), loss)
      : mul(where(and(ge(weight, minimumWeight), le(weight, maximumWeight)), weight, 0), loss)
  })

/** SkyRL: outlier sequences, token masks, truncation, then sequence masks. */
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

/** AReaL: rejection or clamping by a measure of the distance between proximal policy and sampler. */
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

/** AReaL's other approximation: the proximal policy is a mixture of probabilities. */
const linearDecoupled = (parameters: Parameters) =>
  written(({ advantages, alpha, logprobs, samplerLogprobs }) => {
    const [low, high] = boundsOf(parameters)
    const mixed = add(mul(sub(1, alpha), exp(samplerLogprobs)), mul(alpha, exp(logprobs)))
    const proximal = stopGradient(log(mixed))
    return mul(
      exp(sub(proximal, samplerLogprobs)),
      clipped(exp(sub(logprobs, proximal)), advantages, low, high)
    )
  })

const cispoBounds = (peer: string, parameters: Parameters): readonly [low: number, high: number] => {
  if (peer === "TRL") return [-Infinity, number(parameters, "epsilon_high")]
  return peer === "SkyRL"
    ? [1 - number(parameters, "cispo_eps_clip_low"), 1 + number(parameters, "cispo_eps_clip_high")]
    : boundsOf(parameters)
}

const cispo = (peer: string, parameters: Parameters, isMasked: boolean) =>
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

const topr = (parameters: Parameters) =>
  written(({ advantages, logprobs, samplerLogprobs, score }) => {
    const tapered = mul(
      number(parameters, "topr_negative_weight", 1),
      clamp(exp(sub(logprobs, samplerLogprobs)), { low: 0, high: 1 })
    )
    const weight = where(gt(score, 0), number(parameters, "topr_positive_weight", 1), tapered)
    return neg(mul(stopGradient(weight), advantages, logprobs))
  })

const vespoOptions = (parameters: Parameters) => ({
  kPositive: number(parameters, "vespo_k_pos", 2),
  lambdaPositive: number(parameters, "vespo_lambda_pos", 3),
  kNegative: number(parameters, "vespo_k_neg", 3),
  lambdaNegative: number(parameters, "vespo_lambda_neg", 2)
})

/** verl divides by the token count and 10⁻⁸. */
const verlGmpo = (epsilon: number) =>
  written(({ advantages, logprobs, mask, samplerLogprobs }) => {
    const direction = LossTerm.sign(advantages)
    const d = sub(logprobs, samplerLogprobs)
    const least = minimum(mul(direction, d), mul(direction, clamp(d, { low: -epsilon, high: epsilon })))
    const count = add(sum(mask), 1e-8)
    return neg(mul(div(sum(advantages), count), exp(div(sum(mul(direction, least)), count))))
  })

/** TRL's VESPO adds the corrected ratio of the sampler, over all positions, to the log ratio of the sequence. */
const vespoOfThree = (parameters: Parameters) =>
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
        ? written((inputs) => ppo(peer, parameters, inputs))
        : ours(PolicyLoss.ppo({ clipLow: low, clipHigh: high }))
    case "ppo_dual_clip":
      return peer === "AReaL"
        ? ours(PolicyLoss.ppo({ clipLow: low, clipHigh: high, dualClip: number(parameters, "c_clip") }))
        : dualClip(peer, parameters)
    case "gspo_token":
      return ours(PolicyLoss.gspo({ clipLow: low, clipHigh: high }))
    case "gspo_sequence":
      return gspoSequence(parameters, "first")
    case "luspo":
      return gspoSequence(parameters, "first")
    case "gspo_mean_advantage":
      return gspoSequence(parameters, "mean")
    case "cispo":
      return cispo(peer, parameters, false)
    case "cispo_masked":
      return cispo(peer, parameters, true)
    case "icepop":
      return ours(PolicyLoss.icePop({ clipLow: low, clipHigh: high }))
    case "tis_reinforce":
      return ours(PolicyLoss.cispo({
        clipLow: number(parameters, "tis_lower_bound", 0),
        clipHigh: number(parameters, "tis_upper_bound", 1)
      }))
    case "topr":
      return topr(parameters)
    case "dppo_tv":
    case "dppo_tv_tis":
      return dppo(peer, parameters, "tv")
    case "dppo_kl":
    case "dppo_kl_tis":
      return dppo(peer, parameters, "kl")
    case "dppo_tv_kl":
      return written((inputs) => sum(primeDppo(parameters, inputs), inputs.weights))
    case "ipo_trust_region":
      return trustRegionWeighted(parameters)
    case "sapo": {
      const positive = number(parameters, "tau_pos", number(parameters, "sapo_temperature_pos"))
      const negative = number(parameters, "tau_neg", number(parameters, "sapo_temperature_neg"))
      return ours(PolicyLoss.sapo({ tauPositive: positive, tauNegative: negative }))
    }
    case "sapo_sequence":
      return sapoSequence(parameters)
    case "vespo":
      return ours(PolicyLoss.vespo(vespoOptions(parameters)))
    case "vespo_three_policies":
      return vespoOfThree(parameters)
    case "gmpo":
      return peer === "verl" ? verlGmpo(1 - low) : ours(PolicyLoss.gmpo({ epsilon: 1 - low }))
    case "dro":
      return ours(PolicyLoss.dro({ beta: number(parameters, "dro_beta") }))
    case "opsm_ppo": {
      const delta = number(parameters, "opsm_delta", number(parameters, "off_policy_mask_threshold"))
      return ours(PolicyLoss.opsm({ clipLow: low, clipHigh: high, delta }))
    }
    case "ppo_tis_mis":
    case "ppo_tis_icepop":
      return corrected(peer, parameters)
    case "ppo_off_policy_corrected":
      return skyRlCorrection(parameters)
    case "ppo_decoupled_rejection":
      return rejection(parameters)
    case "ppo_decoupled_approximate":
      return text(parameters, "method") === "linear"
        ? linearDecoupled(parameters)
        : ours(PolicyLoss.decoupled({ clipLow: low, clipHigh: high }))
    case "ref_kl":
      return written((inputs) => sum(refKl(inputs), mul(inputs.mask, inputs.weights)))
    case "mixed_components":
      return mixture(parameters)
    case "iw_opd":
      return written(({ advantageOfTeacher, logprobs }) => neg(mul(advantageOfTeacher, logprobs)))
    default:
      return undefined
  }
}

const trustRegionWeighted = (parameters: Parameters) =>
  written((inputs) =>
    sum(primeDppo(parameters, inputs, gt(abs(shift(inputs)), number(parameters, "ipo_threshold"))), inputs.weights)
  )
