/** The losses of `Loss` as numbers and slopes. */
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"

/** The sum over a datum's tokens, and ∂loss/∂logprob of each target `[T·K]`. */
export interface LossValue {
  readonly loss: number
  readonly slopesTK: Float64Array
}

type Term = readonly [loss: number, slope: number]

const policyTerm = (loss: Loss.Loss<Datum.Kind>, logprob: number, sampled: number, advantage: number): Term => {
  const { beta = 0.05, clip_high_threshold: high = Infinity, clip_low_threshold: low = 0 } = loss.config
  const ratio = Math.exp(logprob - sampled)
  const clipped = Math.min(Math.max(ratio, low), high)
  switch (loss.name) {
    case "ppo":
      return ratio * advantage <= clipped * advantage
        ? [-ratio * advantage, -ratio * advantage]
        : [-clipped * advantage, 0]
    case "cispo":
      return [-clipped * logprob * advantage, -clipped * advantage]
    case "dro": {
      const drift = logprob - sampled
      return [-(logprob * advantage - (beta / 2) * drift * drift), -(advantage - beta * drift)]
    }
    default:
      return [-ratio * advantage, -ratio * advantage]
  }
}

/** Tokens that are masked, or weigh nothing, count nothing. */
export const evaluate = (
  loss: Loss.Loss<Datum.Kind>,
  inputs: Datum.Inputs[Datum.Kind],
  logprobsTK: Float32Array
): LossValue => {
  const term = (at: number, logprob: number): Term => {
    if ("weights" in inputs) {
      const weight = inputs.weights[at] ?? 0
      return weight === 0 ? [0, 0] : [-weight * logprob, -weight]
    }
    return inputs.mask[at] === 0
      ? [0, 0]
      : policyTerm(loss, logprob, inputs.logprobs[at] ?? NaN, inputs.advantages[at] ?? 0)
  }
  const terms = Array.from(logprobsTK, (logprob, at) => term(at, logprob))
  return {
    loss: terms.reduce((sum, [value]) => sum + value, 0),
    slopesTK: Float64Array.from(terms, ([, slope]) => slope)
  }
}
