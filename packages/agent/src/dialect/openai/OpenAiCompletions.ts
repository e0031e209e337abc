/** Completions: continuations of plain text. */
import { Message } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import type { Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Prompted } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import type { Incoming } from "../Incoming.ts"
import * as Reply from "../Reply.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"
import { settingsOf } from "./OpenAiChat.ts"
import * as Wire from "./OpenAiRequest.ts"
import * as OpenAiStream from "./OpenAiStream.ts"

/** Where each text begins, the first at `from`. */
const offsets = (texts: ReadonlyArray<string>, from: number) => {
  const found = [from]
  for (const text of texts) found.push((found.at(-1) ?? from) + text.length)
  return found
}

/** Tokens of equal text are one: the most likely. `from` counts the characters before them. */
const logprobsOf = (
  tokenizer: Tokenizer.Tokenizer,
  sequences: ReadonlyArray<Sampling.SampledTokens>,
  from: number
) => {
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

const whole = Effect.fnUntraced(function*(
  prompted: Prompted,
  { logprobs, model }: Wire.Completion
) {
  const replies = yield* Reply.whole(prompted)
  const { tokenizer } = prompted.chatModel
  return HttpServerResponse.jsonUnsafe({
    ...(yield* OpenAiAnswer.head(prompted, "cmpl-", model)),
    object: "text_completion",
    choices: replies.map(({ ended, sequences }, index) => ({
      index,
      text: Message.text(ended.parsed.message),
      finish_reason: finishOf(ended),
      logprobs: typeof logprobs === "number" ? logprobsOf(tokenizer, sequences, 0) : null
    })),
    usage: OpenAiAnswer.usage(prompted.request.prompt, OpenAiAnswer.sampledIn(replies))
  })
})

/** The fields of an event about its choice; `from` counts the characters of the tokens before it. */
const choicesOf =
  (tokenizer: Tokenizer.Tokenizer, { logprobs }: Wire.Completion) =>
  (from: number, event: Reply.Event): readonly [number, ReadonlyArray<object>] => {
    switch (event._tag) {
      case "Text":
        return [from, [{ text: event.text, logprobs: null, finish_reason: null }]]
      case "Sampled": {
        if (typeof logprobs !== "number") return [from, []]
        const found = logprobsOf(tokenizer, [event.sequence], from)
        return [offsets(found.tokens, from).at(-1) ?? from, [{ text: "", logprobs: found, finish_reason: null }]]
      }
      case "Ended":
        return [from, [{ text: "", logprobs: null, finish_reason: finishOf(event) }]]
      default:
        return [from, []]
    }
  }

const streamed = Effect.fnUntraced(function*(prompted: Prompted, value: Wire.Completion) {
  const choices = choicesOf(prompted.chatModel.tokenizer, value)
  return yield* OpenAiStream.respond(
    prompted,
    { ...(yield* OpenAiAnswer.head(prompted, "cmpl-", value.model)), object: "text_completion" },
    value.stream_options?.include_usage === true,
    Stream.mapAccum(() => 0, choices)
  )
})

export const handler = (incoming: Incoming) =>
  Effect.gen(function*() {
    const value = yield* ClientBody.read(incoming, Wire.Completion, Wire.completionRefusals)
    const settings = { ...settingsOf(value), topLogprobs: value.logprobs }
    const prompted = yield* incoming.answerer.continued(value.model, value.prompt, settings)
    return yield* value.stream === true ? streamed(prompted, value) : whole(prompted, value)
  })
