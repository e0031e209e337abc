/** The losses of `Loss` as numbers and slopes. */
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"

/** The sum over a datum's tokens, and ∂loss/∂logprob of each target `[T·K]`. */
export interface LossValue {
  readonly loss: number
  readonly slopesTK: Float64Array
}

type Term = readonly [loss: number, slope: number]

/** The mean of lp − q over the tokens that count. */
const meanDrift = ({ logprobs, mask }: Datum.Inputs["PolicyTokens"], logprobsT: Float32Array): number => {
  const driftsT = Array.from(logprobsT, (logprob, t) => mask[t] === 0 ? 0 : logprob - (logprobs[t] ?? NaN))
  return driftsT.reduce((sum, drift) => sum + drift, 0) / mask.reduce((count, one) => count + Number(one !== 0), 0)
}

/** `drift` is lp − q, of the token or of the sequence. */
const policyTerm = (loss: Loss.Loss<Datum.Kind>, logprob: number, drift: number, advantage: number): Term => {
  const { beta = 0.05, clip_high_threshold: high = Infinity, clip_low_threshold: low = 0 } = loss.config
  const ratio = Math.exp(drift)
  const clipped = Math.min(Math.max(ratio, low), high)
  switch (loss.name) {
    case "ppo":
    case "gspo":
      return ratio * advantage <= clipped * advantage
        ? [-ratio * advantage, -ratio * advantage]
        : [-clipped * advantage, 0]
    case "cispo":
      return [-clipped * logprob * advantage, -clipped * advantage]
    case "dro":
      return [-(logprob * advantage - (beta / 2) * drift * drift), -(advantage - beta * drift)]
    default:
      return [-ratio * advantage, -ratio * advantage]
  }
}

/** Tokens that are masked, or have weight 0, do not count. */
export const evaluate = (
  loss: Loss.Loss<Datum.Kind>,
  inputs: Datum.Inputs[Datum.Kind],
  logprobsTK: Float32Array
): LossValue => {
  const driftOf = (inputs: Datum.Inputs["PolicyTokens"], at: number, logprob: number) =>
    loss.name === "gspo" ? meanDrift(inputs, logprobsTK) : logprob - (inputs.logprobs[at] ?? NaN)
  const term = (at: number, logprob: number): Term => {
    if ("weights" in inputs) {
      const weight = inputs.weights[at] ?? 0
      return weight === 0 ? [0, 0] : [-weight * logprob, -weight]
    }
    return inputs.mask[at] === 0
      ? [0, 0]
      : policyTerm(loss, logprob, driftOf(inputs, at, logprob), inputs.advantages[at] ?? 0)
  }
  const terms = Array.from(logprobsTK, (logprob, at) => term(at, logprob))
  return {
    loss: terms.reduce((sum, [value]) => sum + value, 0),
    slopesTK: Float64Array.from(terms, ([, slope]) => slope)
  }
}
