/** Samples in pieces, so callers take turns and no request monopolizes the backend. */
import type { TinkerError } from "@effect-rl/core"
import type { Sampling, SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import type { FairShare } from "./FairShare.ts"

/** Number of sequences that the backend samples concurrently, more than fit into one engine step on a few processors. */
export const capacity = 1024

/** Maximum number of sequences in one piece. */
const pieceSize = 64

/** Samples `from` to `to` of the request. With a seed, sample `i` uses seed + `i`. */
const pieceOf = (request: Sampling.SampleRequest, from: number, to: number): Sampling.SampleRequest => {
  const { params, promptLogprobs = false, topkPromptLogprobs = 0 } = request
  return {
    ...request,
    numSamples: to - from,
    params: params.seed === undefined ? params : { ...params, seed: params.seed + from },
    promptLogprobs: promptLogprobs && from === 0,
    topkPromptLogprobs: from === 0 ? topkPromptLogprobs : 0
  }
}

const pieces = (request: Sampling.SampleRequest) => {
  const { numSamples = 1 } = request
  return numSamples <= pieceSize
    ? [request]
    : Array.from(
      { length: Math.ceil(numSamples / pieceSize) },
      (_, index) => pieceOf(request, index * pieceSize, Math.min((index + 1) * pieceSize, numSamples))
    )
}

const joined = ([first, ...others]: ReadonlyArray<Sampling.SampleResponse>): Sampling.SampleResponse => ({
  ...first,
  sequences: [first, ...others].flatMap((response) => response?.sequences ?? [])
})

export const sample = (
  fair: FairShare,
  caller: string,
  client: SamplingClient.SamplingClient,
  request: Sampling.SampleRequest
): Effect.Effect<Sampling.SampleResponse, TinkerError.TinkerError> =>
  Effect.map(
    Effect.forEach(
      pieces(request),
      (piece) => fair.use(caller, piece.numSamples ?? 1)(client.sample(piece)),
      { concurrency: "unbounded" }
    ),
    joined
  )
