/** Refuses sample requests that cannot be computed, naming the field, its value and what is expected. */
import { ModelInput, type Sampling, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** What a request is checked against. */
export interface Limits {
  readonly contextLength: number
  readonly vocabularySize: number
  readonly topkPromptLogprobs: number
}

export const rejected = (operation: string, detail: string) =>
  new TinkerError.TinkerError({ operation, reason: new TinkerError.Rejected({ detail }) })

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1

/** The first token that is no id of the vocabulary. */
export const foreignToken = (tokens: ArrayLike<number>, vocabularySize: number): number => {
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] ?? -1
    if (!Number.isInteger(token) || token < 0 || token >= vocabularySize) return index
  }
  return -1
}

const tokenComplaint = (field: string, tokens: ArrayLike<number>, vocabularySize: number) => {
  const index = foreignToken(tokens, vocabularySize)
  return index < 0
    ? undefined
    : `${field}[${index}] is ${tokens[index]}, expected a token id from 0 to ${vocabularySize - 1}`
}

const stopComplaint = (stop: Sampling.Stop, vocabularySize: number) => {
  for (const [index, value] of stop.entries()) {
    if (value === "") return `params.stop[${index}] is empty, expected text`
    if (typeof value === "number" && foreignToken([value], vocabularySize) === 0) {
      return `params.stop[${index}] is ${value}, expected a token id from 0 to ${vocabularySize - 1} or text`
    }
  }
  return undefined
}

const paramsComplaint = (params: Sampling.SamplingParams, vocabularySize: number) => {
  const { maxTokens, seed, stop = [], temperature = 1, topK, topP = 1 } = params
  if (!isCount(maxTokens)) return `params.maxTokens is ${maxTokens}, expected a whole number from 1`
  if (!(temperature >= 0 && temperature < Infinity)) return `params.temperature is ${temperature}, expected 0 or more`
  if (!(topP > 0 && topP <= 1)) return `params.topP is ${topP}, expected more than 0 and at most 1`
  if (topK !== undefined && topK !== -1 && !isCount(topK)) {
    return `params.topK is ${topK}, expected a whole number from 1, or -1 for off`
  }
  if (seed !== undefined && !Number.isSafeInteger(seed)) return `params.seed is ${seed}, expected a whole number`
  return stopComplaint(stop, vocabularySize)
}

const requestComplaint = (request: Sampling.SampleRequest, limits: Limits) => {
  const { numSamples = 1, topkPromptLogprobs = 0 } = request
  if (!isCount(numSamples)) return `numSamples is ${numSamples}, expected a whole number from 1`
  if (!Number.isInteger(topkPromptLogprobs) || topkPromptLogprobs < 0) {
    return `topkPromptLogprobs is ${topkPromptLogprobs}, expected a whole number from 0`
  }
  return paramsComplaint(request.params, limits.vocabularySize)
}

/** Token ids of a text input; images are `Unsupported`. */
export const textTokens = (operation: string, input: ModelInput.ModelInput) =>
  ModelInput.toTokens(input).pipe(
    Effect.mapError((error) =>
      new TinkerError.TinkerError({
        operation,
        reason: new TinkerError.Unsupported({ capability: "images", detail: error.message })
      })
    )
  )

export const tooLong = (operation: string, promptTokens: number, maxTokens: number, contextLength: number) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.ContextTooLong({ promptTokens, maxTokens, contextLength })
  })

/** The token ids of a prompt that fits with `maxTokens` to sample. */
export const prompt = Effect.fnUntraced(
  function*(operation: string, input: ModelInput.ModelInput, maxTokens: number, limits: Limits) {
    const tokens = yield* textTokens(operation, input)
    if (tokens.length === 0) return yield* rejected(operation, "prompt is empty, expected at least one token")
    const complaint = tokenComplaint("prompt", tokens, limits.vocabularySize)
    if (complaint !== undefined) return yield* rejected(operation, complaint)
    if (tokens.length + maxTokens > limits.contextLength) {
      return yield* tooLong(operation, tokens.length, maxTokens, limits.contextLength)
    }
    return tokens
  }
)

/** The token ids of a request's prompt. */
export const request = Effect.fnUntraced(
  function*(operation: string, request: Sampling.SampleRequest, limits: Limits) {
    const complaint = requestComplaint(request, limits)
    if (complaint !== undefined) return yield* rejected(operation, complaint)
    if ((request.topkPromptLogprobs ?? 0) > limits.topkPromptLogprobs) {
      return yield* new TinkerError.TinkerError({
        operation,
        reason: new TinkerError.Unsupported({
          capability: "topkPromptLogprobs",
          detail: `${request.topkPromptLogprobs} tokens asked for, at most ${limits.topkPromptLogprobs} are given`
        })
      })
    }
    return yield* prompt(operation, request.prompt, request.params.maxTokens, limits)
  }
)
