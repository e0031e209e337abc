/**
 * The values of the losses and their derivatives with respect to the targets' log-probabilities, for a backend that computes them itself: L
 * and c = ∂L/∂lp per token. The loss is the sum of L over tokens; the gradient with respect to the model's weights depends on the loss only
 * through c.
 *
 * ratio = exp(lp − q), where q is the log-probability with which the token was sampled, A is its advantage, and w is its weight.
 *
 * | loss                | L                              | c                                        |
 * |---------------------|--------------------------------|------------------------------------------|
 * | cross_entropy       | −w·lp                          | −w                                       |
 * | importance_sampling | −ratio·A                       | −ratio·A                                 |
 * | ppo                 | −min(ratio·A, clip(ratio)·A)   | −ratio·A where that is the minimum, or 0 |
 * | cispo               | −stopgrad(clip(ratio))·lp·A    | −clip(ratio)·A                           |
 * | dro                 | −(lp·A − β/2·(lp − q)²)        | −(A − β·(lp − q))                        |
 * | gspo                | −min(s·A, clip(s)·A)           | −s·A where that is the minimum, or 0     |
 *
 * s = exp(mean(lp − q)) over the sequence's counted tokens, with an exponent of at most 10.
 *
 * @example
 * const { gradient, loss } = LossValue.evaluate(
 *   Loss.crossEntropy,
 *   { targetTokens: Int32Array.of(3, 1), weights: Float32Array.of(0, 1) },
 *   Float32Array.of(-2, -0.5)
 * )
 * loss // => 0.5
 */
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"

/** Losses that are functions of the new log-probabilities, the sampler's log-probabilities and the advantages. */
export type PolicyLoss = Exclude<Loss.Name, "cross_entropy" | "stable_reinforce">

/** Loss parameters under their wire names. Defaults are those of `Loss`. */
export interface Config {
  readonly clip_low_threshold?: number
  readonly clip_high_threshold?: number
  readonly beta?: number
}

/** The input of cross entropy, per target. */
export type Weighted = Pick<Datum.Inputs["WeightedTokens"], "weights">

/** The inputs of a policy loss, per token. A token with mask 0 contributes nothing; without a mask, all tokens count. */
export interface Sampled extends Pick<Datum.Inputs["PolicyTokens"], "logprobs" | "advantages"> {
  readonly mask?: Float32Array
}

/** The loss of one datum, and ∂loss/∂logprob of each target `[T]` or `[T, K]`. */
export interface LossValue {
  /** The sum over tokens, added up in float64 in index order. */
  readonly loss: number
  readonly gradient: Float64Array
}

interface Point {
  readonly loss: number
  readonly slope: number
}

type TokenLoss = (logprob: number, sampled: number, advantage: number) => Point

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high)

const importanceSampling: TokenLoss = (logprob, sampled, advantage) => {
  const loss = -Math.exp(logprob - sampled) * advantage
  return { loss, slope: loss }
}

const clippedObjective = (ratio: number, advantage: number, low: number, high: number): Point => {
  const free = ratio * advantage
  const clipped = clamp(ratio, low, high) * advantage
  return free <= clipped ? { loss: -free, slope: -free } : { loss: -clipped, slope: 0 }
}

const ppo = (low: number, high: number): TokenLoss => (logprob, sampled, advantage) =>
  clippedObjective(Math.exp(logprob - sampled), advantage, low, high)

const gspo = (sequenceRatio: number, low: number, high: number): TokenLoss => (_logprob, _sampled, advantage) =>
  clippedObjective(sequenceRatio, advantage, low, high)

const cispo = (low: number, high: number): TokenLoss => (logprob, sampled, advantage) => {
  const slope = -clamp(Math.exp(logprob - sampled), low, high) * advantage
  return { loss: slope * logprob, slope }
}

const dro = (beta: number): TokenLoss => (logprob, sampled, advantage) => {
  const distance = logprob - sampled
  return {
    loss: -(logprob * advantage - beta / 2 * distance * distance),
    slope: -(advantage - beta * distance)
  }
}

/** The geometric mean of the ratios of the counted tokens, with the exponent limited to 10. */
const geometricRatio = (logprobs: Float32Array, { logprobs: sampled, mask }: Sampled): number => {
  let [sum, count] = [0, 0]
  for (let t = 0; t < logprobs.length; t++) {
    if (mask !== undefined && mask[t] === 0) continue
    sum += (logprobs[t] ?? 0) - (sampled[t] ?? 0)
    count++
  }
  return Math.exp(Math.min(sum / count, 10))
}

const tokenLoss = (
  name: PolicyLoss,
  config: Config,
  logprobs: Float32Array,
  sampled: Sampled
): TokenLoss => {
  switch (name) {
    case "importance_sampling":
      return importanceSampling
    case "ppo":
      return ppo(config.clip_low_threshold ?? 0.8, config.clip_high_threshold ?? 1.2)
    case "cispo":
      return cispo(config.clip_low_threshold ?? 0, config.clip_high_threshold ?? 4)
    case "dro":
      return dro(config.beta ?? 0.05)
    case "gspo": {
      const { clip_high_threshold: high = 1.0004, clip_low_threshold: low = 0.9997 } = config
      return gspo(geometricRatio(logprobs, sampled), low, high)
    }
  }
}

/** Cross entropy for `logprobs` of shape `[T]`, or `[T, K]` if each position has several weighted candidates. */
export const crossEntropy = (logprobs: Float32Array, { weights }: Weighted): LossValue => {
  const gradient = new Float64Array(logprobs.length)
  let loss = 0
  for (let i = 0; i < logprobs.length; i++) {
    const weight = weights[i] ?? 0
    if (weight === 0) continue
    gradient[i] = -weight
    loss -= weight * (logprobs[i] ?? 0)
  }
  return { loss, gradient }
}

/** Whether a token with this advantage contributes to the loss `name`. A token whose advantage is 0 contributes only to `dro`. */
export const counts = (name: string, advantage: number): boolean => name === "dro" || advantage !== 0

/** A policy loss and its gradient for `logprobs` of shape `[T]`. */
export const policy = (
  name: PolicyLoss,
  config: Config,
  logprobs: Float32Array,
  inputs: Sampled
): LossValue => {
  const { advantages, logprobs: sampled, mask } = inputs
  const at = tokenLoss(name, config, logprobs, inputs)
  const gradient = new Float64Array(logprobs.length)
  let loss = 0
  for (let t = 0; t < logprobs.length; t++) {
    const advantage = advantages[t] ?? 0
    if ((mask !== undefined && mask[t] === 0) || !counts(name, advantage)) continue
    const point = at(logprobs[t] ?? 0, sampled[t] ?? 0, advantage)
    gradient[t] = point.slope
    loss += point.loss
  }
  return { loss, gradient }
}

/**
 * The value and gradient of `loss` for one datum. Throws a `TypeError` for `cross_entropy` if the datum has no weights, and for
 * `stable_reinforce`, which has no published formula.
 */
export const evaluate = (
  { config, name }: Loss.Loss<Datum.Kind>,
  inputs: Datum.Inputs[Datum.Kind],
  logprobs: Float32Array
): LossValue => {
  if ("weights" in inputs) return crossEntropy(logprobs, inputs)
  if (name === "cross_entropy") throw new TypeError("cross_entropy reads weights, the datum has advantages")
  if (name === "stable_reinforce") throw new TypeError("stable_reinforce has no published formula")
  return policy(name, config, logprobs, inputs)
}
