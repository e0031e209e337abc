/** Parts shared by all answers to OpenAI clients. */
import type { ModelInput, Sampling } from "@effect-rl/core/backend"
import type { Tokenizer } from "@effect-rl/core/renderers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Answerer, Prompted } from "../Answerer.ts"
import type * as Notes from "../Notes.ts"
import { invalid, type Refusal } from "../Refusal.ts"
import type * as Reply from "../Reply.ts"

/** The answer's id and creation time in seconds. */
export const head = ({ id }: Prompted, prefix: string, model: string) =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    id: `${prefix}${id}`,
    created: Math.floor(now / 1000),
    model
  }))

/** Token usage, summed over all prompts and replies. */
export const usage = (prompts: ReadonlyArray<ModelInput.ModelInput>, sampled: number) => {
  const prompted = prompts.reduce((sum, { length }) => sum + length, 0)
  return { prompt_tokens: prompted, completion_tokens: sampled, total_tokens: prompted + sampled }
}

export const sampledIn = (replies: ReadonlyArray<Reply.Whole>) =>
  replies.reduce((sum, { ended }) => sum + ended.sampled, 0)

interface Token {
  readonly token: string
  readonly logprob: number
  readonly bytes: ReadonlyArray<number>
}

/** A sampled token with the most likely tokens at its position. */
export interface Logprob extends Token {
  readonly top_logprobs: ReadonlyArray<Token>
}

const tokenOf = (tokenizer: Tokenizer.Tokenizer, token: number, logprob: number): Token => {
  const text = tokenizer.decode([token])
  return { token: text, logprob, bytes: [...new TextEncoder().encode(text)] }
}

/** All sampled tokens, including the model's stop, with the most likely tokens at each position if they were requested. */
export const logprobs = (
  tokenizer: Tokenizer.Tokenizer,
  sequences: ReadonlyArray<Sampling.SampledTokens>
): ReadonlyArray<Logprob> =>
  sequences.flatMap(({ logprobs, tokens, topkLogprobs = [] }) =>
    Array.from(tokens, (token, index) => ({
      ...tokenOf(tokenizer, token, logprobs[index] ?? 0),
      top_logprobs: (topkLogprobs[index] ?? []).map(({ logprob, token }) => tokenOf(tokenizer, token, logprob))
    }))
  )

/** How many of the most likely tokens to show at each position: none, with a warning, where replies show only the sampled tokens. */
export const alternatives = (
  { answerer, notes }: { readonly answerer: Answerer; readonly notes: Notes.Notes },
  model: string,
  field: string,
  asked: number | null | undefined
): Effect.Effect<number, Refusal> =>
  typeof asked === "number" && asked > 0 && answerer.showsSampledOnly?.(model) === true
    ? Effect.as(
      notes.notGiven(field, `${field} is ${asked}, expected 0: an agent's session shows only the sampled tokens`),
      0
    )
    : Effect.succeed(asked ?? 0)

/** How many of the most likely tokens to show at each position. Fails for more than 0 if log-probabilities are not requested as well. */
export const topLogprobs = (asked: number | null | undefined, hasLogprobs: boolean, switchedOn: string) =>
  hasLogprobs || (asked ?? 0) === 0
    ? Effect.succeed(asked ?? 0)
    : Effect.fail(invalid(`top_logprobs is ${asked}, expected 0 where ${switchedOn}`, "top_logprobs"))

const kinds: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error"
}

const codes: Readonly<Record<number, string>> = {
  401: "invalid_api_key",
  404: "not_found",
  410: "session_ended",
  429: "rate_limit_exceeded",
  503: "server_overloaded"
}

/**
 * The text of an error. Agents that ignore error codes look for these words, to send a shorter prompt or to retry
 * later.
 */
const worded = ({ detail, status, tooLong }: Refusal) => {
  if (tooLong !== undefined) return `the maximum context length is ${tooLong.most} tokens: ${detail}`
  return status === 503 ? `the service is overloaded: ${detail}` : detail
}

/** An error in OpenAI's format. Agents that recognize the code of a too-long prompt retry with a shorter one. */
export const error = (refusal: Refusal) => {
  const { code, field, status, tooLong } = refusal
  return {
    message: worded(refusal),
    type: kinds[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param: field ?? null,
    code: tooLong === undefined ? code ?? codes[status] ?? null : "context_length_exceeded"
  }
}

export const refused = (refusal: Refusal) => {
  const { headers, status } = refusal
  return Effect.succeed(
    HttpServerResponse.jsonUnsafe({ error: error(refusal) }, { status, ...(headers === undefined ? {} : { headers }) })
  )
}
