/** Chat completions. */
import { OpenAi, type Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Prompted, Settings } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import type { Incoming } from "../Incoming.ts"
import { invalid } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"
import * as Wire from "./OpenAiRequest.ts"
import * as OpenAiStream from "./OpenAiStream.ts"

type Request = Omit<Wire.Completion, "prompt" | "logprobs" | "best_of" | "echo">

/** Fields that chat completions and completions share. */
export const settingsOf = (
  { max_tokens, n, seed, stop, temperature, top_k, top_p }: Request
): Settings => ({
  maxTokens: max_tokens,
  choices: n,
  temperature,
  topP: top_p,
  topK: top_k,
  seed,
  stops: typeof stop === "string" ? [stop] : stop ?? []
})

const finishOf = ({ isCut, parsed }: Reply.Ended) => isCut ? "length" : OpenAi.finishReason(parsed)

const whole = Effect.fnUntraced(function*(
  prompted: Prompted,
  { logprobs, model }: Wire.ChatCompletion
) {
  const replies = yield* Reply.whole(prompted)
  const { tokenizer } = prompted.chatModel
  return HttpServerResponse.jsonUnsafe({
    ...(yield* OpenAiAnswer.head(prompted, "chatcmpl-", model)),
    object: "chat.completion",
    choices: replies.map(({ ended, sequences }, index) => ({
      index,
      message: OpenAi.fromMessage(ended.parsed.message),
      finish_reason: finishOf(ended),
      logprobs: logprobs === true ? { content: OpenAiAnswer.logprobs(tokenizer, sequences), refusal: null } : null
    })),
    usage: OpenAiAnswer.usage(prompted.request.prompt, OpenAiAnswer.sampledIn(replies))
  })
})

const opening = { delta: { role: "assistant", content: "" }, finish_reason: null }

/** The fields of an event about its choice; `calls` counts the calls of tools before it. */
const choicesOf =
  (tokenizer: Tokenizer.Tokenizer, logprobs: boolean) =>
  (calls: number, event: Reply.Event): readonly [number, ReadonlyArray<object>] => {
    if (event._tag === "Ended") return [calls, [{ delta: {}, finish_reason: finishOf(event) }]]
    if (event._tag === "Sampled") {
      const content = logprobs ? OpenAiAnswer.logprobs(tokenizer, [event.sequence]) : []
      return [
        calls,
        content.length === 0 ? [] : [{ delta: {}, logprobs: { content, refusal: null }, finish_reason: null }]
      ]
    }
    const delta = OpenAi.fromDelta(event, calls)
    return [calls + (delta.tool_calls?.length ?? 0), [{ delta, finish_reason: null }]]
  }

const streamed = Effect.fnUntraced(function*(
  prompted: Prompted,
  { logprobs, model, stream_options }: Wire.ChatCompletion
) {
  const head = { ...(yield* OpenAiAnswer.head(prompted, "chatcmpl-", model)), object: "chat.completion.chunk" }
  const choices = choicesOf(prompted.chatModel.tokenizer, logprobs === true)
  return yield* OpenAiStream.respond(
    prompted,
    head,
    stream_options?.include_usage === true,
    (events) => Stream.concat(Stream.succeed(opening), Stream.mapAccum(events, () => 0, choices))
  )
})

export const handler = (incoming: Incoming) =>
  Effect.gen(function*() {
    const value = yield* ClientBody.read(incoming, Wire.ChatCompletion, Wire.chatRefusals)
    const messages = yield* Effect.mapError(OpenAi.toMessages(value.messages), ({ message }) => invalid(message))
    const tools = value.tool_choice === "none" ? [] : (value.tools ?? []).map(OpenAi.toToolSpec)
    const prompted = yield* incoming.answerer.prompted(value.model, { messages, tools }, {
      ...settingsOf({ ...value, max_tokens: value.max_completion_tokens ?? value.max_tokens ?? null }),
      topLogprobs: yield* OpenAiAnswer.topLogprobs(
        value.top_logprobs,
        value.logprobs === true,
        "logprobs is not true"
      )
    })
    return yield* value.stream === true ? streamed(prompted, value) : whole(prompted, value)
  })
