/** The loss at every position of a pass, which the hosted service returns together with the log-probabilities. */
import type { Loss } from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"

/** The loss of one token. `drift` is lp − q of the token or, for gspo, its mean over the sequence. */
type TokenLoss = (logprob: number, drift: number, advantage: number) => number

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high)

const tokenLoss = ({ config, name }: Loss.Loss<Datum.Kind>): TokenLoss => {
  const { beta = NaN, clip_high_threshold: high = NaN, clip_low_threshold: low = NaN } = config
  switch (name) {
    case "ppo":
    case "gspo":
      return (_, drift, advantage) =>
        -Math.min(Math.exp(drift) * advantage, clamp(Math.exp(drift), low, high) * advantage)
    case "cispo":
      return (logprob, drift, advantage) => -clamp(Math.exp(drift), low, high) * logprob * advantage
    case "dro":
      return (logprob, drift, advantage) => -(logprob * advantage - beta / 2 * drift ** 2)
    default:
      return (_, drift, advantage) => -Math.exp(drift) * advantage
  }
}

/** The mean of lp − q over unmasked tokens, capped at 10. */
const meanDrift = ({ logprobs: sampled, mask }: Datum.Inputs["PolicyTokens"], logprobs: Float32Array): number => {
  let [sum, count] = [0, 0]
  logprobs.forEach((logprob, t) => {
    if (mask[t] === 0) return
    sum += logprob - (sampled[t] ?? 0)
    count++
  })
  return Math.min(sum / count, 10)
}

const policy = (
  inputs: Datum.Inputs["PolicyTokens"],
  loss: Loss.Loss<Datum.Kind>,
  logprobs: Float32Array
): Float32Array => {
  const { advantages, logprobs: sampled, mask } = inputs
  const at = tokenLoss(loss)
  const mean = meanDrift(inputs, logprobs)
  return logprobs.map((logprob, t) => {
    if (mask[t] === 0) return 0
    return at(logprob, loss.name === "gspo" ? mean : logprob - (sampled[t] ?? 0), advantages[t] ?? 0)
  })
}

/** The losses `[T]`. Candidates of a position are summed, and masked positions are 0. */
export const of = (
  { inputs, modelInput }: Datum.Datum<Datum.Kind>,
  loss: Loss.Loss<Datum.Kind>,
  logprobs: Float32Array
): Float32Array => {
  if (!("weights" in inputs)) return policy(inputs, loss, logprobs)
  const losses = new Float32Array(modelInput.length)
  const candidates = logprobs.length / Math.max(losses.length, 1)
  logprobs.forEach((logprob, i) => {
    const weight = inputs.weights[i] ?? 0
    const position = Math.floor(i / candidates)
    if (weight !== 0) losses[position] = (losses[position] ?? 0) - weight * logprob
  })
  return losses
}
