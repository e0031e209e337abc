/** Observations: what tools and environments answered to the policy's actions. */
import type * as ModelInput from "../model/ModelInput.ts"
import type { TrainingDatum } from "./TrainingData.ts"

/** 1 at positions whose input is an image. */
const images = ({ chunks, length }: ModelInput.ModelInput): Uint8Array => {
  const isImage = new Uint8Array(length + 1)
  let at = 0
  for (const chunk of chunks) {
    const size = chunk._tag === "Image" ? chunk.expectedTokens : chunk.tokens.length
    if (chunk._tag === "Image") isImage.fill(1, at, at + size)
    at += size
  }
  return isImage
}

/**
 * 1 on the targets `[T]` that are observations: text after the first action that the policy did not write itself. A token of the policy
 * has a log-probability even where its turn is not trained on.
 */
export const mask = ({ inputs: { logprobs, mask }, modelInput }: TrainingDatum): Float32Array => {
  const isImage = images(modelInput)
  const first = logprobs.findIndex((logprob) => logprob !== 0)
  return mask.map((trained, t) =>
    first >= 0 && t > first && trained === 0 && logprobs[t] === 0 && isImage[t + 1] === 0 ? 1 : 0
  )
}
