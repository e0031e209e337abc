/** Messages for Anthropic's clients, from base models and from checkpoints. */
import { type Message, ResponseStream, type Sampling } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import * as Wire from "../../wire/AnthropicRequest.ts"
import * as Body from "../Body.ts"
import type { Caller } from "../Caller.ts"
import type { Parts } from "../Parts.ts"
import { invalid, type Refusal } from "../Refusal.ts"
import * as AnthropicMessages from "./AnthropicMessages.ts"
import * as Conversation from "./Conversation.ts"
import * as EventStream from "./EventStream.ts"

const rendered = Effect.fnUntraced(function*(parts: Parts, value: Wire.CountTokens, hasTools: boolean) {
  const source = yield* Conversation.source(parts, value.model)
  const tools = hasTools ? AnthropicMessages.toToolSpecs(value) : []
  const messages = AnthropicMessages.toMessages(value)
  const { prompt, messages: shown } = yield* Conversation.render(source, { model: value.model, messages, tools })
  return { source, prompt, messages: shown }
})

const event = (type: string, content: object): EventStream.Event => ({
  event: type,
  data: JSON.stringify({ type, ...content })
})

const failed = (detail: string) => event("error", { error: { type: "api_error", message: detail } })

const headOf = (parts: Parts, model: string, prompt: number) => ({
  id: `msg_${parts.uniqueId()}`,
  type: "message",
  role: "assistant",
  model,
  stop_sequence: null,
  usage: { input_tokens: prompt, output_tokens: 0 }
})

/** Opens a block before its first delta, and closes the one before. */
const makeBlocks = () => {
  let open = ""
  let index = -1
  let calls = 0
  const close = () => index < 0 ? [] : [event("content_block_stop", { index })]
  const add = (delta: ResponseStream.Delta) => {
    const next = AnthropicMessages.fromDelta(delta, calls)
    if (delta._tag === "ToolCall") calls++
    const events: Array<EventStream.Event> = []
    if (next.key !== open) {
      events.push(...close(), event("content_block_start", { index: index + 1, content_block: next.block }))
      index++
      open = next.key
    }
    events.push(event("content_block_delta", { index, delta: next.delta }))
    return events
  }
  return { add, close }
}

const streamed = Effect.fnUntraced(function*(
  parts: Parts,
  source: Conversation.Source,
  request: Sampling.SampleRequest,
  messages: ReadonlyArray<Message.Message>,
  model: string
) {
  const context = yield* Effect.context<Caller>()
  const blocks = makeBlocks()
  let reason: Sampling.SampleStopReason = "length"
  let sampled = 0
  const tokens = Stream.map(Conversation.pieces(parts, source, request), (piece) => {
    reason = piece.stopReason
    sampled += piece.tokens.length
    return piece.tokens
  })
  const head = { ...headOf(parts, model, request.prompt.length), content: [], stop_reason: null }
  const body = Stream.flatMap(
    ResponseStream.events(source.chatModel.renderer, messages, tokens),
    (one) => {
      if (one._tag !== "Done") return Stream.fromIterable(blocks.add(one))
      const stop_reason = AnthropicMessages.stopReason(one.parsed, Conversation.isCut(one.parsed, reason))
      return Stream.fromIterable([
        ...blocks.close(),
        event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: sampled } }),
        event("message_stop", {})
      ])
    }
  )
  const events = Stream.concat(Stream.succeed(event("message_start", { message: head })), body)
  return EventStream.respond(Stream.provideContext(events, context), failed)
})

const whole = Effect.fnUntraced(function*(
  parts: Parts,
  source: Conversation.Source,
  request: Sampling.SampleRequest,
  model: string
) {
  const { sequences: [sequence] } = yield* Conversation.sample(parts, source, request)
  const tokens = sequence?.tokens ?? new Int32Array(0)
  const parsed = yield* Conversation.parse(source, tokens)
  const isCut = Conversation.isCut(parsed, sequence?.stopReason ?? "length")
  return HttpServerResponse.jsonUnsafe({
    ...headOf(parts, model, request.prompt.length),
    content: AnthropicMessages.fromMessage(parsed.message),
    stop_reason: AnthropicMessages.stopReason(parsed, isCut),
    usage: { input_tokens: request.prompt.length, output_tokens: tokens.length }
  })
})

const messages = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.Messages)
    if ((value.stop_sequences ?? []).length > 0) {
      return yield* invalid(
        `stop_sequences is ${
          JSON.stringify(value.stop_sequences)
        }, expected none: a chat stops where its model's turns end`
      )
    }
    const { messages, prompt, source } = yield* rendered(parts, value, value.tool_choice?.type !== "none")
    const request = yield* Conversation.request(source, prompt, source.chatModel.renderer.stop, {
      maxTokens: value.max_tokens,
      temperature: value.temperature ?? undefined,
      topP: value.top_p ?? undefined,
      topK: value.top_k ?? undefined,
      seed: undefined
    })
    return value.stream === true
      ? yield* streamed(parts, source, request, messages, value.model)
      : yield* whole(parts, source, request, value.model)
  })

const countTokens = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.CountTokens)
    const { prompt } = yield* rendered(parts, value, true)
    return HttpServerResponse.jsonUnsafe({ input_tokens: prompt.length })
  })

const kinds: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error"
}

/** What Anthropic's clients read of a refusal. */
const refused = ({ detail, headers, status }: Refusal) =>
  Effect.succeed(
    HttpServerResponse.jsonUnsafe({
      type: "error",
      error: { type: kinds[status] ?? (status < 500 ? "invalid_request_error" : "api_error"), message: detail }
    }, { status, ...(headers === undefined ? {} : { headers }) })
  )

const answering = <R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, R>) =>
  Effect.catchTag(handler, "Refusal", refused)

export const prefix = "/anthropic/api/v1"

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", `${prefix}/messages`, answering(messages(parts))),
  HttpRouter.route("POST", `${prefix}/messages/count_tokens`, answering(countTokens(parts)))
]
