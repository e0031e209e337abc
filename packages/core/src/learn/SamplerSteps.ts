/** Which weights sampled the tokens of a datum. */
import type { TrainingDatum } from "./TrainingData.ts"

/**
 * Optimizer steps behind the weights that sampled each target `[T]`; −1 where the policy did not write it. A token of the policy has a
 * log-probability even where its turn is not trained on.
 */
export const of = ({ inputs: { logprobs, mask }, origin: { samplerStep } }: TrainingDatum): Int32Array =>
  Int32Array.from(logprobs, (logprob, t) => logprob === 0 && mask[t] === 0 ? -1 : samplerStep)
