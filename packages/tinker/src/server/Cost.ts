/** Limits what one sampling request may ask for, checked before any work is done. */
import * as Effect from "effect/Effect"
import * as Wire from "../wire/Sample.ts"
import { type HttpRefusal, invalid } from "./HttpRefusal.ts"

/** Maximum number of samples; each has an id in the answer. */
const mostSamples = 10_000

/** Maximum number of tokens that one request may sample or score: 128 samples of 32,768 tokens, or 10,000 samples of 419. */
export const mostTokens = 2 ** 22

/** Maximum number of stops; every sampled token is compared with each. */
const mostStops = 1000
const mostStopCharacters = 65_536

/** Every sample is charged as at least this many tokens, because even a short one takes memory. */
const leastPerSample = 16

const holds = (condition: boolean, detail: () => string) => condition ? Effect.void : Effect.fail(invalid(detail()))

/** Fails with the first limit that a request's stops exceed. */
export const stops = (field: string, stop: Wire.SamplingParams["stop"]) => {
  const all = typeof stop === "string" ? [stop] : stop ?? []
  const characters = all.reduce<number>((sum, one) => sum + (typeof one === "string" ? one.length : 0), 0)
  return Effect.andThen(
    holds(all.length <= mostStops, () => `${field} has ${all.length} entries, expected at most ${mostStops}`),
    holds(
      characters <= mostStopCharacters,
      () => `${field} has ${characters} characters, expected at most ${mostStopCharacters}`
    )
  )
}

/** The size of a sampling request. */
export interface Asked {
  /** The name of the request's field with the number of samples. */
  readonly field: string
  readonly samples: number
  readonly promptLength: number
  /** Maximum number of tokens per sample. */
  readonly maxTokens: number
  readonly topkPromptLogprobs?: number
  readonly topkSampleLogprobs?: number
}

/** The scored tokens: prompt positions with their candidates, and sampled positions whose candidates are requested. */
const scored = ({ promptLength, samples, topkPromptLogprobs = 0, topkSampleLogprobs = 0 }: Asked, sampled: number) => {
  const candidates = Math.max(topkSampleLogprobs, 0)
  const ofSamples = candidates === 0 ? 0 : candidates * (sampled + promptLength * samples)
  return promptLength * (1 + Math.max(topkPromptLogprobs, 0)) + ofSamples
}

/** The maximum number of tokens that the request samples or scores. Fails if there are too many. */
export const of = Effect.fnUntraced(function*(asked: Asked): Effect.fn.Return<number, HttpRefusal> {
  const { field, maxTokens, promptLength, samples } = asked
  const longest = Math.max(maxTokens, leastPerSample)
  const tokens = samples * longest + scored(asked, samples * longest)
  yield* holds(
    tokens <= mostTokens,
    () =>
      `${field} ${samples} and max_tokens ${longest} with a prompt of ${promptLength} tokens ask for ${tokens} tokens, ` +
      `expected at most ${mostTokens} in one request`
  )
  return tokens
})

/** The maximum number of tokens that the request samples or scores. Fails with the field that asks for too many. */
export const ofSample = Effect.fnUntraced(function*(
  body: Wire.SampleRequest,
  contextLength: number
): Effect.fn.Return<number, HttpRefusal> {
  const { num_samples: samples = 1, prompt, sampling_params: { max_tokens, stop } } = body
  const promptLength = Wire.promptLength(prompt)
  yield* holds(samples >= 1 && samples <= mostSamples, () => `num_samples is ${samples}, expected 1 to ${mostSamples}`)
  yield* stops("sampling_params.stop", stop)
  return yield* of({
    field: "num_samples",
    samples,
    promptLength,
    maxTokens: max_tokens ?? contextLength - promptLength,
    topkPromptLogprobs: body.topk_prompt_logprobs ?? 0,
    topkSampleLogprobs: body.topk_sample_logprobs ?? 0
  })
})
