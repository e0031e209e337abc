/** What has been sampled of a turn, by one request or several, with the weights of each token. */
import type * as Sampling from "../model/Sampling.ts"

export type PartialTurn = Sampling.SampledTokens & Required<Pick<Sampling.SampledTokens, "weights">>

/** A turn of which nothing has been sampled. */
export const empty: PartialTurn = {
  tokens: new Int32Array(0),
  logprobs: new Float32Array(0),
  stopReason: "length",
  weights: []
}

const concat = <A extends Int32Array | Float32Array>(joined: A, left: A, right: A): A => {
  joined.set(left)
  joined.set(right, left.length)
  return joined
}

/** The turn with the sequence of its next request, sampled by weights of `step` optimizer steps. */
export const append = (
  turn: PartialTurn,
  { logprobs, sequenceId, stopReason, tokens }: Sampling.SampledTokens,
  step: number
): PartialTurn => {
  const span = { step, length: tokens.length, ...(sequenceId === undefined ? {} : { sequenceId }) }
  const length = turn.tokens.length + tokens.length
  return {
    tokens: concat(new Int32Array(length), turn.tokens, tokens),
    logprobs: concat(new Float32Array(length), turn.logprobs, logprobs),
    stopReason,
    weights: [...turn.weights, span]
  }
}
