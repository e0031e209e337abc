/** Samples a response in pieces, so it can be read before it is complete. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"

/** Default number of tokens per piece. */
const usualPiece = 16

const nothing: Sampling.SampledTokens = {
  tokens: new Int32Array(0),
  logprobs: new Float32Array(0),
  stopReason: "length"
}

/**
 * The request for the next piece. It asks for the whole response if there is a text stop or a grammar, because either may span several
 * pieces.
 */
const pieceOf = (request: Sampling.SampleRequest, most: number): Sampling.SampleRequest => {
  const { grammar, params } = request
  const isWhole = typeof params.stop?.[0] === "string" || grammar !== undefined
  return {
    ...request,
    numSamples: 1,
    params: { ...params, maxTokens: isWhole ? params.maxTokens : Math.min(most, params.maxTokens) }
  }
}

/** The request for the tokens after a piece; `None` if the response has ended. */
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
 * One response to the request, in pieces of at most `pieceTokens` tokens (default 16). Each piece is a separate request: its prompt
 * includes the earlier pieces and its seed is one higher. A backend with a prompt cache samples no token twice; a backend that charges for
 * prompt tokens charges for the prompt of every piece. The same seed gives another response if the piece length changes. A request with a
 * text stop or a grammar gives a single piece.
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
