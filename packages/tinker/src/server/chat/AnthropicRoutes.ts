/** Messages for Anthropic's clients, from base models and from checkpoints. */
import type { ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import * as Wire from "../../wire/AnthropicRequest.ts"
import type { Caller } from "../Caller.ts"
import type { Parts } from "../Parts.ts"
import { Refusal } from "../Refusal.ts"
import * as AnthropicMessages from "./AnthropicMessages.ts"
import * as ChatModels from "./ChatModels.ts"
import * as ClientBody from "./ClientBody.ts"
import * as Conversation from "./Conversation.ts"
import * as EventStream from "./EventStream.ts"
import * as Reply from "./Reply.ts"

const ofType = (type: string, content: object): EventStream.Event => ({
  event: type,
  data: JSON.stringify({ type, ...content })
})

const kinds: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error"
}

const error = ({ detail, status }: Refusal) => ({
  type: kinds[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
  message: detail
})

/** A refusal as Anthropic's clients read it. */
export const refused = (refusal: Refusal) => {
  const { headers, status } = refusal
  const body = { type: "error", error: error(refusal) }
  return Effect.succeed(HttpServerResponse.jsonUnsafe(body, { status, ...(headers === undefined ? {} : { headers }) }))
}

const failed = (refusal: Refusal) => [ofType("error", { error: error(refusal) })]

const headOf = (parts: Parts, model: string, { request: { prompt } }: Conversation.Prompted, sampled: number) => ({
  id: `msg_${parts.uniqueId()}`,
  type: "message",
  role: "assistant",
  model,
  usage: { input_tokens: prompt.length, output_tokens: sampled }
})

/** The block that is open, if any, and the number of calls before it. */
interface Open {
  readonly key: string | undefined
  readonly index: number
  readonly calls: number
}

const first: Open = { key: undefined, index: -1, calls: 0 }

const closed = ({ index, key }: Open) => key === undefined ? [] : [ofType("content_block_stop", { index })]

/** Opens a block before its first delta, and closes the one before. */
const deltaEvents = (open: Open, delta: ResponseStream.Delta): readonly [Open, ReadonlyArray<EventStream.Event>] => {
  const next = AnthropicMessages.fromDelta(delta, open.calls)
  const calls = open.calls + (delta._tag === "ToolCall" ? 1 : 0)
  const index = next.key === open.key ? open.index : open.index + 1
  const begun = next.key === open.key
    ? []
    : [...closed(open), ofType("content_block_start", { index, content_block: next.block })]
  return [{ key: next.key, index, calls }, [...begun, ofType("content_block_delta", { index, delta: next.delta })]]
}

const eventsOf = (open: Open, event: Reply.Event): readonly [Open, ReadonlyArray<EventStream.Event>] => {
  if (event._tag === "Sampled") return [open, []]
  if (event._tag !== "Ended") return deltaEvents(open, event)
  const usage = { output_tokens: event.sampled }
  const last = [ofType("message_delta", { delta: AnthropicMessages.stop(event), usage }), ofType("message_stop", {})]
  return [first, [...closed(open), ...last]]
}

const streamed = Effect.fnUntraced(function*(parts: Parts, prompted: Conversation.Prompted, model: string) {
  const context = yield* Effect.context<Caller>()
  const message = { ...headOf(parts, model, prompted, 0), content: [], stop_reason: null, stop_sequence: null }
  const body = Stream.mapAccum(Reply.stream(parts, prompted), () => first, eventsOf)
  const events = Stream.concat(Stream.succeed(ofType("message_start", { message })), body)
  return EventStream.respond(Stream.provideContext(events, context), failed)
})

const whole = Effect.fnUntraced(function*(parts: Parts, prompted: Conversation.Prompted, model: string) {
  const [reply] = yield* Reply.whole(parts, prompted)
  if (reply === undefined) return yield* new Refusal({ status: 500, detail: "the backend sampled nothing" })
  const { ended } = reply
  return HttpServerResponse.jsonUnsafe({
    ...headOf(parts, model, prompted, ended.sampled),
    content: AnthropicMessages.fromMessage(ended.parsed.message),
    ...AnthropicMessages.stop(ended)
  })
})

const askedOf = (value: Wire.CountTokens): Conversation.Asked => ({
  messages: AnthropicMessages.toMessages(value),
  tools: value.tool_choice?.type === "none" ? [] : AnthropicMessages.toToolSpecs(value)
})

const messages = (parts: Parts) =>
  Effect.gen(function*() {
    const value = yield* ClientBody.read(parts, Wire.Messages, Wire.refusals)
    const { max_tokens, model, stop_sequences, stream, temperature, top_k, top_p } = value
    const prompted = yield* Conversation.prompted(parts, model, askedOf(value), {
      maxTokens: max_tokens,
      temperature,
      topP: top_p,
      topK: top_k,
      stops: stop_sequences ?? []
    })
    return yield* stream === true ? streamed(parts, prompted, model) : whole(parts, prompted, model)
  })

const countTokens = (parts: Parts) =>
  Effect.gen(function*() {
    const value = yield* ClientBody.read(parts, Wire.CountTokens, Wire.refusals)
    const chatModel = yield* Conversation.chatModel(parts, value.model)
    const { prompt } = yield* Conversation.render(chatModel, askedOf(value))
    return HttpServerResponse.jsonUnsafe({ input_tokens: prompt.length })
  })

/** The date of a model is unknown. */
const epoch = "1970-01-01T00:00:00Z"

const shown = (id: string) => ({ type: "model", id, display_name: id, created_at: epoch })

const page = (names: ReadonlyArray<string>) => ({
  data: names.map(shown),
  has_more: false,
  first_id: names.at(0) ?? null,
  last_id: names.at(-1) ?? null
})

const models = (parts: Parts) =>
  Effect.map(
    ChatModels.asked(parts),
    (asked) => HttpServerResponse.jsonUnsafe("one" in asked ? shown(asked.one) : page(asked.all))
  )

export const prefix = "/anthropic/api/v1"

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", `${prefix}/messages`, messages(parts)),
  HttpRouter.route("POST", `${prefix}/messages/count_tokens`, countTokens(parts)),
  HttpRouter.route("GET", `${prefix}/models/*`, models(parts))
]
