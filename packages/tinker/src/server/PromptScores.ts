/** Restricts prompt log-probabilities to the last tokens. */
import type { Sampling } from "@effect-rl/core/backend"

/** Keeps the scores of the last `count` prompt tokens; earlier positions get NaN and no candidates. */
export const lastOnly = (response: Sampling.SampleResponse, count: number | undefined): Sampling.SampleResponse => {
  const { promptLogprobs, topkPromptLogprobs } = response
  if (count === undefined || promptLogprobs === undefined) return response
  const from = promptLogprobs.length - count
  return {
    ...response,
    promptLogprobs: promptLogprobs.map((logprob, at) => at < from ? NaN : logprob),
    ...(topkPromptLogprobs === undefined
      ? {}
      : { topkPromptLogprobs: topkPromptLogprobs.map((row, at) => at < from ? [] : row) })
  }
}
