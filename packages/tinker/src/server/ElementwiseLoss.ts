/** The loss of every position of a pass, as the hosted service reports it beside the log-probabilities. */
import type { Datum, Loss } from "@effect-rl/core"

type TokenLoss = (logprob: number, sampled: number, advantage: number) => number

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high)

const tokenLoss = ({ config, name }: Loss.Loss<Datum.Kind>): TokenLoss => {
  const { beta = NaN, clip_high_threshold: high = NaN, clip_low_threshold: low = NaN } = config
  switch (name) {
    case "ppo":
      return (logprob, sampled, advantage) => {
        const ratio = Math.exp(logprob - sampled)
        return -Math.min(ratio * advantage, clamp(ratio, low, high) * advantage)
      }
    case "cispo":
      return (logprob, sampled, advantage) => -clamp(Math.exp(logprob - sampled), low, high) * logprob * advantage
    case "dro":
      return (logprob, sampled, advantage) => -(logprob * advantage - beta / 2 * (logprob - sampled) ** 2)
    default:
      return (logprob, sampled, advantage) => -Math.exp(logprob - sampled) * advantage
  }
}

/** `[T]`: candidates of one position are added up, and masked positions are 0. */
export const of = (
  { inputs, modelInput }: Datum.Datum<Datum.Kind>,
  loss: Loss.Loss<Datum.Kind>,
  logprobs: Float32Array
): Float32Array => {
  const losses = new Float32Array(modelInput.length)
  const perPosition = logprobs.length / Math.max(losses.length, 1)
  const at = tokenLoss(loss)
  for (let i = 0; i < logprobs.length; i++) {
    const logprob = logprobs[i] ?? 0
    const value = "weights" in inputs
      ? inputs.weights[i] === 0 ? 0 : -(inputs.weights[i] ?? 0) * logprob
      : inputs.mask[i] === 0
      ? 0
      : at(logprob, inputs.logprobs[i] ?? 0, inputs.advantages[i] ?? 0)
    const position = Math.floor(i / perPosition)
    losses[position] = (losses[position] ?? 0) + value
  }
  return losses
}
