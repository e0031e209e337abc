/** A response that is sampled in pieces, so that it can be read before it is complete. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"

/** Tokens of a piece unless another number is given. */
const usualPiece = 16

const nothing: Sampling.SampledTokens = {
  tokens: new Int32Array(0),
  logprobs: new Float32Array(0),
  stopReason: "length"
}

/** A sampler with a stop of text or a grammar gets all at once: either may begin in an earlier piece. */
const pieceOf = (request: Sampling.SampleRequest, most: number): Sampling.SampleRequest => {
  const { grammar, params } = request
  const isWhole = typeof params.stop?.[0] === "string" || grammar !== undefined
  return {
    ...request,
    numSamples: 1,
    params: { ...params, maxTokens: isWhole ? params.maxTokens : Math.min(most, params.maxTokens) }
  }
}

/** The request for what comes after a piece; none where the response has ended. */
const after = (
  request: Sampling.SampleRequest,
  { stopReason, tokens }: Sampling.SampledTokens
): Option.Option<Sampling.SampleRequest> => {
  const { params, prompt } = request
  const maxTokens = params.maxTokens - tokens.length
  if (stopReason === "stop" || tokens.length === 0 || maxTokens <= 0) return Option.none()
  return Option.some({
    ...request,
    prompt: ModelInput.append(prompt, tokens),
    params: { ...params, maxTokens, ...(params.seed !== undefined && { seed: params.seed + 1 }) }
  })
}

/**
 * One response to the request, in pieces of at most `pieceTokens` tokens. Each piece is a request of its own, whose prompt has the pieces
 * before it and whose seed is the next: a backend that keeps its computation of a prompt samples no token twice, and one that charges for
 * prompts charges for each piece. The division into pieces is part of what a seed means.
 *
 * @example
 * const events = ResponseStream.events(
 *   renderer,
 *   messages,
 *   Stream.map(SampleStream.pieces(client.sample, { prompt, params: { maxTokens: 256, stop: renderer.stop } }), ({ tokens }) => tokens)
 * )
 */
export const pieces = <E, R>(
  sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, E, R>,
  request: Sampling.SampleRequest,
  pieceTokens: number = usualPiece
): Stream.Stream<Sampling.SampledTokens, E, R> =>
  Stream.paginate(
    request,
    (next) =>
      Effect.map(sample(pieceOf(next, pieceTokens)), ({ sequences: [sequence = nothing] }) =>
        [[sequence], after(next, sequence)] as const)
  )
