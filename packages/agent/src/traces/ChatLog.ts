/**
 * Logs of API requests to OpenAI and Anthropic with their answers, as a proxy or a client's `fetch` writes them: one
 * `{"request": …, "response": …}` per line. Request and response are bodies, as JSON objects or as text. A streamed
 * response is the text of its server-sent events.
 */
import { OpenAi } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as AnthropicMessages from "../dialect/anthropic/AnthropicMessages.ts"
import * as Anthropic from "../dialect/anthropic/AnthropicRequest.ts"
import * as Kept from "../dialect/Kept.ts"
import * as KeptInput from "../dialect/openai/KeptInput.ts"
import * as Responses from "../dialect/openai/OpenAiResponse.ts"
import * as ResponseItems from "../dialect/openai/ResponseItems.ts"
import * as ResponseTools from "../dialect/openai/ResponseTools.ts"
import { nullable } from "../wire/Json.ts"
import * as Streamed from "./Streamed.ts"
import * as Trace from "./Trace.ts"

/** A message of chat completions. The older `function_call` field is refused, because its calls would be lost. */
const ChatMessage = Schema.Struct({ ...OpenAi.ChatMessage.fields, function_call: nullable(Schema.Null) })

const Chat = Schema.Struct({
  request: Schema.Struct({
    messages: Schema.NonEmptyArray(ChatMessage),
    tools: nullable(Schema.Array(OpenAi.Tool))
  }),
  response: Schema.Struct({
    choices: Schema.Array(Schema.Struct({ message: ChatMessage, finish_reason: nullable(Schema.String) }))
  })
})

const { messages: sent, model, system, tools } = Anthropic.CountTokens.fields

const Messages = Schema.Struct({
  request: Schema.Struct({ messages: sent, model, system, tools }),
  response: Schema.Struct({ content: Schema.Array(Anthropic.Block), stop_reason: nullable(Schema.String) })
})

const { input, instructions, previous_response_id, tools: offered } = Responses.Create.fields

const Response = Schema.Struct({
  request: Schema.Struct({ input, instructions, previous_response_id, tools: offered }),
  response: Schema.Struct({
    id: Schema.String,
    status: nullable(Schema.String),
    output: Schema.Array(Responses.Item)
  })
})

const decodeChat = Schema.decodeUnknownEffect(Chat)
const decodeMessages = Schema.decodeUnknownEffect(Messages)
const decodeResponse = Schema.decodeUnknownEffect(Response)

/** A request and its answer. */
interface Exchange {
  readonly request: object
  readonly response: object
}

const chat = Effect.fnUntraced(function*(exchange: Exchange) {
  const { request: { messages, tools }, response: { choices } } = yield* decodeChat(exchange)
  const traces = yield* Effect.forEach(choices, ({ finish_reason, message }) =>
    Effect.map(
      OpenAi.toConversation({ messages: [...messages, message], tools: tools ?? [] }),
      (conversation) => ({ ...conversation, isCut: Trace.isCut(finish_reason) })
    ))
  return { traces }
})

const messages = Effect.fnUntraced(function*(exchange: Exchange) {
  const { request, response: { content, stop_reason } } = yield* decodeMessages(exchange)
  const whole = { ...request, messages: [...request.messages, { role: "assistant", content }] } as const
  const trace = { messages: AnthropicMessages.toMessages(whole), tools: AnthropicMessages.toToolSpecs(whole) }
  return { traces: [{ ...trace, isCut: Trace.isCut(stop_reason) }] }
})

/** Reads an exchange with the Responses API. A request may refer to earlier responses in the same log. */
const responses = (kept: Kept.Kept) =>
  Effect.fnUntraced(function*(exchange: Exchange) {
    const { request, response } = yield* decodeResponse(exchange)
    if (response.output.length === 0) return Trace.without("failed")
    const input = yield* KeptInput.resolve(kept, request)
    const output = response.output.map((item, index) => ({ ...item, id: item.id ?? `${response.id} ${index}` }))
    KeptInput.keep(kept, response.id, input, output)
    const messages = yield* OpenAi.toMessages(ResponseItems.toMessages([...input.all, ...output], request.instructions))
    const tools = ResponseTools.all(request).map(({ spec }) => spec)
    const isCut = typeof response.status === "string" && response.status !== "completed"
    return { traces: [{ messages, tools, isCut }] }
  })

const Body = Schema.Record(Schema.String, Schema.Json)
type Body = typeof Body.Type

const Given = Schema.Union([Schema.String, Schema.Null, Body])

const Line = Schema.Struct({ request: Given, response: Schema.optionalKey(Given) })

const decodeLine = Schema.decodeEffect(Schema.fromJsonString(Line))
const decodeBody = Schema.decodeUnknownEffect(Schema.fromJsonString(Body))

/** The body of a request, without the tools that the service runs itself. */
const requestOf = Effect.fnUntraced(function*(given: typeof Given.Type) {
  const { tools, ...request } = typeof given === "string" ? yield* decodeBody(given) : given ?? {}
  if (!Array.isArray(tools)) return request
  const types = ["function", "custom", "namespace"]
  const own = tools.filter((tool: Schema.Json) =>
    !Predicate.hasProperty(tool, "type") || tool.type === null || types.some((type) => type === tool.type)
  )
  return { ...request, tools: own }
})

const streamed = Effect.fnUntraced(function*(text: string) {
  const events = yield* Streamed.events(text)
  const types = new Set(events.map(({ type }) => type))
  if (types.has("error") || events.some(({ error }) => error !== undefined)) return { error: true }
  if (types.has("message_start")) return yield* Streamed.message(events)
  if (types.has("response.created")) return events.findLast(({ response }) => response !== undefined)?.["response"]
  return yield* Streamed.chat(events)
})

const responseOf = (given: typeof Given.Type) => {
  if (typeof given !== "string") return Effect.succeed(given)
  return given.trimStart().startsWith("{") ? decodeBody(given) : streamed(given)
}

/** Reads a line in the API dialect of its response. A failed request has no conversation. */
const read = (kept: Kept.Kept) =>
  Effect.fnUntraced(function*(line: string) {
    const given = yield* decodeLine(line)
    const response = yield* responseOf(given.response ?? null)
    if (!Predicate.isObject(response) || Predicate.hasProperty(response, "error") && response.error !== null) {
      return Trace.without("failed")
    }
    const exchange = { request: yield* requestOf(given.request), response }
    if ("choices" in response) return yield* chat(exchange)
    return yield* "output" in response ? responses(kept)(exchange) : messages(exchange)
  })

/** Logs of requests and answers. */
export const format: Trace.Format = {
  name: "requests and answers of OpenAI's and Anthropic's APIs",
  is: (first) => "request" in first && "response" in first,
  read: (file, options) => {
    const kept = Kept.make()
    return Trace.lines(file, read(kept), options)
  }
}
