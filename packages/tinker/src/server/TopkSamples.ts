/** Finds the most likely tokens at sampled positions by scoring the sampled tokens as a prompt. */
import type { TinkerError } from "@effect-rl/core"
import { ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"

type Client = SamplingClient.SamplingClient

/** Scores the sampled tokens. The prompt and its response must leave room for one more token in the context. */
const score = (client: Client, prompt: ModelInput.ModelInput, topk: number) => (sampled: Sampling.SampledTokens) =>
  Effect.map(
    client.sample({
      prompt: ModelInput.fromChunks([...prompt.chunks, { _tag: "EncodedText", tokens: sampled.tokens }]),
      params: { maxTokens: 1 },
      topkPromptLogprobs: topk
    }),
    ({ topkPromptLogprobs = [] }) => ({ ...sampled, topkLogprobs: topkPromptLogprobs.slice(prompt.length) })
  )

/** Samples with `sample`. If the request asks for `topkSampleLogprobs`, adds them by scoring each sampled sequence with `client`. */
export const around = (
  client: Client,
  { topkSampleLogprobs = 0, ...request }: Sampling.SampleRequest,
  sample: (request: Sampling.SampleRequest) => Effect.Effect<Sampling.SampleResponse, TinkerError.TinkerError>
): Effect.Effect<Sampling.SampleResponse, TinkerError.TinkerError> =>
  topkSampleLogprobs === 0
    ? sample(request)
    : Effect.flatMap(sample(request), (response) =>
      Effect.map(
        Effect.forEach(response.sequences, score(client, request.prompt, topkSampleLogprobs)),
        (sequences) => ({ ...response, sequences })
      ))
