/** Completions: continuations of plain text, or its log-probabilities. */
import { Message } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import type { Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Prompted } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import type { Incoming } from "../Incoming.ts"
import type { Notes } from "../Notes.ts"
import { invalid, type Refusal } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"
import { settingsOf } from "./OpenAiChat.ts"
import * as Wire from "./OpenAiRequest.ts"
import * as OpenAiStream from "./OpenAiStream.ts"

/** The offset of each text; the first begins at `from`. */
const offsets = (texts: ReadonlyArray<string>, from: number) => {
  const found = [from]
  for (const text of texts) found.push((found.at(-1) ?? from) + text.length)
  return found
}

/** The log-probabilities of consecutive tokens; null for the first token of a prompt. */
interface Logprobs {
  readonly tokens: ReadonlyArray<string>
  readonly token_logprobs: ReadonlyArray<number | null>
  readonly top_logprobs: ReadonlyArray<Readonly<Record<string, number>> | null>
  readonly text_offset: ReadonlyArray<number>
}

const joined = (left: Logprobs, right: Logprobs): Logprobs => ({
  tokens: [...left.tokens, ...right.tokens],
  token_logprobs: [...left.token_logprobs, ...right.token_logprobs],
  top_logprobs: [...left.top_logprobs, ...right.top_logprobs],
  text_offset: [...left.text_offset, ...right.text_offset]
})

/**
 * The log-probabilities in the completions format. Alternative tokens with equal text are merged into the most likely
 * one. `from` counts the characters before the tokens.
 */
const logprobsOf = (
  tokenizer: Tokenizer.Tokenizer,
  sequences: ReadonlyArray<Sampling.SampledTokens>,
  from: number
): Logprobs => {
  const found = OpenAiAnswer.logprobs(tokenizer, sequences)
  const tokens = found.map(({ token }) => token)
  return {
    tokens,
    token_logprobs: found.map(({ logprob }) => logprob),
    top_logprobs: found.map(({ top_logprobs }) =>
      Object.fromEntries(top_logprobs.toReversed().map(({ logprob, token }) => [token, logprob]))
    ),
    text_offset: offsets(tokens, from).slice(0, -1)
  }
}

const finishOf = ({ isCut }: Reply.Ended) => isCut ? "length" : "stop"

/** The text of an echoed prompt, and its log-probabilities if they are requested. */
interface Echo {
  readonly text: string
  readonly logprobs: Logprobs | undefined
}

const scoresPrompts = ({ chatModel: { capabilities, name } }: Prompted) =>
  capabilities.promptLogprobs
    ? Effect.void
    : Effect.fail(invalid(`echo: the backend of ${name} does not score prompts, expected no logprobs with it`, "echo"))

/** The log-probabilities of the prompt. The backend scores the prompt while it samples one token, which is dropped. */
const scored = Effect.fnUntraced(function*(prompted: Prompted, candidates: number) {
  yield* scoresPrompts(prompted)
  const { chatModel: { tokenizer }, request, sample } = prompted
  const response = yield* sample({
    prompt: request.prompt,
    numSamples: 1,
    params: { ...request.params, maxTokens: 1 },
    promptLogprobs: true,
    topkPromptLogprobs: candidates
  })
  const tokens = Int32Array.from(Reply.promptIds(request.prompt))
  const logprobs = response.promptLogprobs ?? new Float32Array(tokens.length).fill(NaN)
  const topkLogprobs = response.topkPromptLogprobs ?? []
  const all = logprobsOf(tokenizer, [{ tokens, logprobs, topkLogprobs, stopReason: "length" }], 0)
  return {
    ...all,
    token_logprobs: [null, ...all.token_logprobs.slice(1)],
    top_logprobs: [null, ...all.top_logprobs.slice(1)]
  } satisfies Logprobs
})

const echoOf = Effect.fnUntraced(function*(prompted: Prompted, { echo, logprobs }: Wire.Completion) {
  if (echo !== true) return { text: "", logprobs: undefined } satisfies Echo
  const text = prompted.chatModel.tokenizer.decode(Reply.promptIds(prompted.request.prompt))
  return { text, logprobs: typeof logprobs === "number" ? yield* scored(prompted, logprobs) : undefined } satisfies Echo
})

const nothing: Logprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }

const choiceOf = (prompted: Prompted, echo: Echo, reply: Reply.Whole, value: Wire.Completion) => {
  const { tokenizer } = prompted.chatModel
  const { logprobs, return_token_ids } = value
  const sampled = typeof logprobs === "number" ? logprobsOf(tokenizer, reply.sequences, echo.text.length) : null
  return {
    text: echo.text + Message.text(reply.ended.parsed.message),
    finish_reason: finishOf(reply.ended),
    logprobs: sampled === null ? null : joined(echo.logprobs ?? nothing, sampled),
    ...(return_token_ids === true && Reply.allIds(prompted, reply)),
    ...Reply.warned(reply.ended)
  }
}

/** The choices for a prompt, and the number of tokens sampled for them. */
interface Completed {
  readonly choices: ReadonlyArray<object>
  readonly sampled: number
}

const completed = Effect.fnUntraced(function*(
  prompted: Prompted,
  notes: Notes,
  value: Wire.Completion
): Effect.fn.Return<Completed, Refusal> {
  const echo = yield* echoOf(prompted, value)
  if (value.max_tokens === 0) {
    const choice = { text: echo.text, finish_reason: "length", logprobs: echo.logprobs ?? null }
    return { choices: Array.from({ length: prompted.request.numSamples }, () => choice), sampled: 0 }
  }
  const replies = yield* Reply.whole(prompted, notes)
  return {
    choices: replies.map((reply) => choiceOf(prompted, echo, reply, value)),
    sampled: OpenAiAnswer.sampledIn(replies)
  }
})

type Prompts = readonly [Prompted, ...ReadonlyArray<Prompted>]

const whole = Effect.fnUntraced(function*(prompts: Prompts, notes: Notes, value: Wire.Completion) {
  const done = yield* Effect.forEach(prompts, (prompted) => completed(prompted, notes, value), {
    concurrency: "unbounded"
  })
  return {
    ...(yield* OpenAiAnswer.head(prompts[0], "cmpl-", value.model)),
    object: "text_completion",
    choices: done.flatMap(({ choices }) => choices).map((choice, index) => ({ index, ...choice })),
    usage: OpenAiAnswer.usage(
      prompts.map(({ request: { prompt } }) => prompt),
      done.reduce((sum, { sampled }) => sum + sampled, 0)
    )
  }
})

/** The fields that an event sets in its choice; `from` counts the characters of the tokens before it. */
const choicesOf =
  (tokenizer: Tokenizer.Tokenizer, { logprobs, return_token_ids }: Wire.Completion) =>
  (from: number, event: Reply.Event): readonly [number, ReadonlyArray<object>] => {
    switch (event._tag) {
      case "Text":
        return [from, [{ text: event.text, logprobs: null, finish_reason: null }]]
      case "Sampled": {
        const ids = return_token_ids === true ? { token_ids: Reply.tokenIds([event.sequence]) } : undefined
        if (typeof logprobs !== "number") {
          return [from, ids === undefined ? [] : [{ text: "", logprobs: null, finish_reason: null, ...ids }]]
        }
        const found = logprobsOf(tokenizer, [event.sequence], from)
        return [offsets(found.tokens, from).at(-1) ?? from, [{
          text: "",
          logprobs: found,
          finish_reason: null,
          ...ids
        }]]
      }
      case "Ended":
        return [from, [{ text: "", logprobs: null, finish_reason: finishOf(event), ...Reply.warned(event) }]]
      default:
        return [from, []]
    }
  }

/** Streams the answer to a request that echoes its prompts: once the whole answer is known, each choice is sent as a single chunk. */
const echoed = Effect.fnUntraced(function*(prompts: Prompts, notes: Notes, value: Wire.Completion) {
  const { choices, usage, ...head } = yield* whole(prompts, notes, value)
  const last = value.stream_options?.include_usage === true ? [{ ...head, choices: [], usage }] : []
  return OpenAiStream.sent(Stream.fromIterable([...choices.map((choice) => ({ ...head, choices: [choice] })), ...last]))
})

const streamed = Effect.fnUntraced(function*(prompts: Prompts, notes: Notes, value: Wire.Completion) {
  const [first] = prompts
  const choices = choicesOf(first.chatModel.tokenizer, value)
  return yield* OpenAiStream.respond(
    {
      prompts,
      notes,
      head: { ...(yield* OpenAiAnswer.head(first, "cmpl-", value.model)), object: "text_completion" },
      includeUsage: value.stream_options?.include_usage === true
    },
    (events, { request: { prompt } }) => {
      const opening = { text: "", logprobs: null, finish_reason: null, prompt_token_ids: Reply.promptIds(prompt) }
      return Stream.concat(
        value.return_token_ids === true ? Stream.succeed(opening) : Stream.empty,
        Stream.mapAccum(events, () => 0, choices)
      )
    }
  )
})

type Prompt = string | ReadonlyArray<number>

const isTokens = (prompt: Wire.Completion["prompt"]): prompt is readonly [number, ...ReadonlyArray<number>] =>
  typeof prompt[0] === "number"

const promptsOf = (prompt: Wire.Completion["prompt"]): readonly [Prompt, ...ReadonlyArray<Prompt>] =>
  typeof prompt === "string" || isTokens(prompt) ? [prompt] : prompt

const read = ClientBody.reading({ kind: "completions", schema: Wire.Completion, tools: [] })

export const handler = (incoming: Incoming) =>
  Effect.gen(function*() {
    const { notes, value } = yield* read(incoming)
    const { echo, max_tokens, stream } = value
    if (max_tokens === 0 && echo !== true) {
      return yield* invalid("max_tokens is 0, expected at least 1 without echo", "max_tokens")
    }
    const { answerer } = incoming
    if (echo === true && typeof value.logprobs === "number" && answerer.showsSampledOnly?.(value.model) === true) {
      return yield* invalid("echo with logprobs: an episode scores no prompt, expected one of them alone", "echo")
    }
    const topLogprobs = yield* OpenAiAnswer.alternatives({ answerer, notes }, value.model, "logprobs", value.logprobs)
    const settings = { ...settingsOf(value), maxTokens: max_tokens, topLogprobs }
    const prompts = yield* Effect.forEach(
      promptsOf(value.prompt),
      (prompt) => answerer.continued(value.model, prompt, settings)
    )
    if (stream === true) return yield* echo === true ? echoed(prompts, notes, value) : streamed(prompts, notes, value)
    return HttpServerResponse.jsonUnsafe(yield* whole(prompts, notes, value))
  })
