/**
 * Computes log-probabilities of targets with a client that only samples. Every target with a weight must be the token after its position,
 * because the input and its last target are scored as one prompt.
 */
import * as Effect from "effect/Effect"
import type * as Datum from "../model/Datum.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type { SamplingClient } from "./SamplingClient.ts"
import { Rejected, TinkerError } from "./TinkerError.ts"

type WeightedTokens = Datum.Datum<"WeightedTokens">

/** Number of concurrent requests. */
const concurrency = 64

/** The token at each position; −1 for the positions of an image. */
const tokensOf = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number> =>
  chunks.flatMap((chunk) =>
    chunk._tag === "Image" ? Array<number>(chunk.expectedTokens).fill(-1) : Array.from(chunk.tokens)
  )

/** Fails at the first weighted target that is not the token after its position, because a prompt cannot contain it. */
const checkTargets = (data: ReadonlyArray<WeightedTokens>) => {
  for (const [d, { inputs: { targetTokens, weights }, modelInput }] of data.entries()) {
    const tokensT = tokensOf(modelInput)
    const t = tokensT.findIndex((_, at) => at > 0 && weights[at - 1] !== 0 && targetTokens[at - 1] !== tokensT[at]) - 1
    if (t < 0) continue
    const detail =
      `data[${d}].inputs.targetTokens[${t}] is ${targetTokens[t]}, expected ${tokensT[t + 1]}, the token after` +
      " its position: without a training client, only the next tokens can be scored"
    return new TinkerError({ operation: "computeLogprobs", reason: new Rejected({ detail }) })
  }
  return Effect.void
}

/** The model input followed by its last target. */
const whole = ({ inputs: { targetTokens }, modelInput }: WeightedTokens) =>
  ModelInput.append(modelInput, targetTokens.subarray(-1))

/** The log-probabilities of the datums' targets, `[T]` per datum. Fails as `Rejected` if a weighted target is not the next token. */
export const logprobs = Effect.fnUntraced(function*(
  client: Pick<SamplingClient, "computeLogprobs">,
  data: ReadonlyArray<WeightedTokens>
): Effect.fn.Return<ReadonlyArray<Float32Array>, TinkerError> {
  yield* checkTargets(data)
  return yield* Effect.forEach(
    data,
    (datum) => Effect.map(client.computeLogprobs(whole(datum)), (logprobs) => logprobs.subarray(1)),
    { concurrency }
  )
})
