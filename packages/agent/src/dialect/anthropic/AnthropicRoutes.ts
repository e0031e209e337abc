/** Messages for Anthropic's clients, from base models and from checkpoints. */
import type { ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Asked, ModelInfo, Prompted } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import * as Conversation from "../Conversation.ts"
import * as EventStream from "../EventStream.ts"
import type { Incoming, Serve } from "../Incoming.ts"
import * as ListedModels from "../ListedModels.ts"
import { Refusal } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as AnthropicMessages from "./AnthropicMessages.ts"
import * as Wire from "./AnthropicRequest.ts"

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
const refused = (refusal: Refusal) => {
  const { headers, status } = refusal
  const body = { type: "error", error: error(refusal) }
  return Effect.succeed(HttpServerResponse.jsonUnsafe(body, { status, ...(headers === undefined ? {} : { headers }) }))
}

const failed = (refusal: Refusal) => [ofType("error", { error: error(refusal) })]

const headOf = (model: string, { id, request: { prompt } }: Prompted, sampled: number) => ({
  id: `msg_${id}`,
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

const streamed = (prompted: Prompted, model: string) => {
  const message = { ...headOf(model, prompted, 0), content: [], stop_reason: null, stop_sequence: null }
  const body = Stream.mapAccum(Reply.stream(prompted), () => first, eventsOf)
  const events = Stream.concat(Stream.succeed(ofType("message_start", { message })), body)
  return EventStream.respond(events, failed)
}

const whole = Effect.fnUntraced(function*(prompted: Prompted, model: string) {
  const [reply] = yield* Reply.whole(prompted)
  if (reply === undefined) return yield* new Refusal({ status: 500, detail: "the backend sampled nothing" })
  const { ended } = reply
  return HttpServerResponse.jsonUnsafe({
    ...headOf(model, prompted, ended.sampled),
    content: AnthropicMessages.fromMessage(ended.parsed.message),
    ...AnthropicMessages.stop(ended)
  })
})

const askedOf = (value: Wire.CountTokens): Asked => ({
  messages: AnthropicMessages.toMessages(value),
  tools: value.tool_choice?.type === "none" ? [] : AnthropicMessages.toToolSpecs(value)
})

const answered = (incoming: Incoming) =>
  Effect.gen(function*() {
    const value = yield* ClientBody.read(incoming, Wire.Messages, Wire.refusals)
    const { max_tokens, model, stop_sequences, stream, temperature, top_k, top_p } = value
    const prompted = yield* incoming.answerer.prompted(model, askedOf(value), {
      maxTokens: max_tokens,
      temperature,
      topP: top_p,
      topK: top_k,
      stops: stop_sequences ?? []
    })
    return stream === true ? streamed(prompted, model) : yield* whole(prompted, model)
  })

const countTokens = (incoming: Incoming) =>
  Effect.gen(function*() {
    const value = yield* ClientBody.read(incoming, Wire.CountTokens, Wire.refusals)
    const chatModel = yield* incoming.answerer.chatModel(value.model)
    const { prompt } = yield* Conversation.render(chatModel, askedOf(value))
    return HttpServerResponse.jsonUnsafe({ input_tokens: prompt.length })
  })

/** The date of a model is unknown. */
const epoch = "1970-01-01T00:00:00Z"

const shown = ({ id }: ModelInfo) => ({ type: "model", id, display_name: id, created_at: epoch })

const page = (all: ReadonlyArray<ModelInfo>) => ({
  data: all.map(shown),
  has_more: false,
  first_id: all.at(0)?.id ?? null,
  last_id: all.at(-1)?.id ?? null
})

const listed = ({ answerer }: Incoming) =>
  Effect.map(
    ListedModels.asked(answerer),
    (asked) => HttpServerResponse.jsonUnsafe("one" in asked ? shown(asked.one) : page(asked.all))
  )

/** The handler of the requests that `serve` lets in; every refusal has the form that Anthropic's clients read. */
const handled = <R, S>(
  serve: Serve<R>,
  handler: (incoming: Incoming) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, S>
) => Effect.catchTag(Effect.flatMap(serve, handler), "Refusal", refused)

/** The list of models, or one of them. */
export const models = <R>(serve: Serve<R>) => handled(serve, listed)

export const messages = <R>(serve: Serve<R>) => [
  HttpRouter.route("POST", "/messages", handled(serve, answered)),
  HttpRouter.route("POST", "/messages/count_tokens", handled(serve, countTokens))
]

export const routes = <R>(serve: Serve<R>) => [
  ...messages(serve),
  HttpRouter.route("GET", "/models/*", models(serve))
]
