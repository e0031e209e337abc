/** The messages endpoints for Anthropic clients, for base models and checkpoints. */
import type { Sampling } from "@effect-rl/core/backend"
import type { ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Asked, ModelInfo, Prompted } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import * as EventStream from "../EventStream.ts"
import type { Incoming, Serve } from "../Incoming.ts"
import * as Kept from "../Kept.ts"
import * as ListedModels from "../ListedModels.ts"
import type { Notes } from "../Notes.ts"
import * as PromptedChat from "../PromptedChat.ts"
import * as Reasoning from "../Reasoning.ts"
import { Refusal } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as Structure from "../Structure.ts"
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
  410: "not_found_error",
  429: "rate_limit_error",
  503: "overloaded_error"
}

/** An error in Anthropic's format. Agents that recognize the wording of a too-long prompt retry with a shorter one. */
const error = ({ code, detail, status, tooLong }: Refusal) => ({
  type: kinds[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
  message: tooLong === undefined
    ? detail
    : `prompt is too long: ${tooLong.tokens} tokens > ${tooLong.most} maximum (${detail})`,
  ...(code !== undefined && { details: { error_code: code } })
})

/** Anthropic's own status code for an overloaded service. */
const overloaded = 529

/** A refusal in Anthropic's format. */
const refused = (refusal: Refusal) => {
  const { headers } = refusal
  const status = refusal.status === 503 ? overloaded : refusal.status
  const body = { type: "error", error: error(refusal) }
  return Effect.succeed(HttpServerResponse.jsonUnsafe(body, { status, ...(headers === undefined ? {} : { headers }) }))
}

const failed = (refusal: Refusal) => [ofType("error", { error: error(refusal) })]

const idOf = ({ id }: Prompted) => `msg_${id}`

const headOf = (model: string, prompted: Prompted, sampled: number) => ({
  id: idOf(prompted),
  type: "message",
  role: "assistant",
  model,
  usage: { input_tokens: prompted.request.prompt.length, output_tokens: sampled }
})

/** The open block, if any, and the number of calls before it. */
interface Open {
  readonly key: string | undefined
  readonly index: number
  readonly calls: number
}

const first: Open = { key: undefined, index: -1, calls: 0 }

const closed = ({ index, key }: Open) => key === undefined ? [] : [ofType("content_block_stop", { index })]

/** Opens a block before its first delta, and closes the previous one. */
const deltaEvents = (open: Open, delta: ResponseStream.Delta): readonly [Open, ReadonlyArray<EventStream.Event>] => {
  const next = AnthropicMessages.fromDelta(delta, open.calls)
  const calls = open.calls + (delta._tag === "ToolCall" ? 1 : 0)
  const index = next.key === open.key ? open.index : open.index + 1
  const begun = next.key === open.key
    ? []
    : [...closed(open), ofType("content_block_start", { index, content_block: next.block })]
  return [{ key: next.key, index, calls }, [...begun, ofType("content_block_delta", { index, delta: next.delta })]]
}

const eventsOf = (prompted: Prompted, isWithIds: boolean) => {
  const sequences: Array<Sampling.SampledTokens> = []
  return (open: Open, event: Reply.Event): readonly [Open, ReadonlyArray<EventStream.Event>] => {
    if (event._tag === "Sampled") {
      sequences.push(event.sequence)
      return [open, []]
    }
    if (event._tag !== "Ended") return deltaEvents(open, event)
    const last = {
      delta: AnthropicMessages.stop(event),
      usage: { output_tokens: event.sampled },
      ...(isWithIds && Reply.allIds(prompted, { sequences })),
      ...Reply.warned(event)
    }
    return [first, [...closed(open), ofType("message_delta", last), ofType("message_stop", {})]]
  }
}

const streamed = (prompted: Prompted, notes: Notes, { model, return_token_ids }: Wire.Messages) => {
  const message = { ...headOf(model, prompted, 0), content: [], stop_reason: null, stop_sequence: null }
  const body = Stream.mapAccum(
    Reply.stream(prompted, notes),
    () => first,
    eventsOf(prompted, return_token_ids === true)
  )
  const events = Stream.concat(Stream.succeed(ofType("message_start", { message })), body)
  return EventStream.respond(events, failed)
}

const whole = Effect.fnUntraced(function*(prompted: Prompted, notes: Notes, value: Wire.Messages) {
  const [reply] = yield* Reply.whole(prompted, notes)
  if (reply === undefined) return yield* new Refusal({ status: 500, detail: "the backend sampled nothing" })
  const { ended } = reply
  return HttpServerResponse.jsonUnsafe({
    ...headOf(value.model, prompted, ended.sampled),
    content: AnthropicMessages.fromMessage(ended.parsed.message),
    ...AnthropicMessages.stop(ended),
    ...(value.return_token_ids === true && Reply.allIds(prompted, reply)),
    ...Reply.warned(ended)
  })
})

/** The structure requested of the reply. */
const wantedOf = ({ output_config, tool_choice: choice, tools }: Wire.CountTokens): Structure.Wanted => {
  const format = output_config?.format
  return {
    ...(format !== null && format !== undefined && {
      format: { field: "output_config.format", type: format.type, schema: format.schema }
    }),
    ...((choice?.type === "any" || choice?.type === "tool") && {
      forced: { value: choice, name: choice.type === "tool" ? choice.name : undefined }
    }),
    isOneCall: choice?.disable_parallel_tool_use === true,
    strict: {
      field: "tools[].strict",
      names: (tools ?? []).filter((tool) => tool.strict === true).map(({ name }) => name)
    }
  }
}

/** The requested effort. Disabled thinking takes precedence over an explicit effort, which takes precedence over enabled thinking. */
const effortOf = Effect.fnUntraced(function*({ output_config, thinking }: Wire.CountTokens) {
  const byWord = yield* Reasoning.byWord("output_config.effort", output_config?.effort)
  if (thinking?.type === "disabled") return { field: "thinking", value: thinking, effort: "off" } as const
  if (byWord !== undefined || thinking?.type !== "enabled") return byWord
  return { field: "thinking", value: thinking, effort: "on" } as const
})

/**
 * The request with the messages of its kept thread. If the thread is not kept, the refusal tells the client to send the whole conversation.
 */
const rethreaded = <A extends Wire.CountTokens>({ kept }: Incoming, value: A): Effect.Effect<A, Refusal> => {
  const { messages, system, thread, tools } = value
  if (thread?.type !== "continue") return Effect.succeed(value)
  const { previous_message_id: id } = thread
  const parts = kept && Kept.upTo(kept.threads, id)
  const last = parts?.at(-1)
  if (parts === undefined || last === undefined) {
    const detail = `thread.previous_message_id is "${id}", expected a whole conversation: this thread is not kept`
    return Effect.fail(new Refusal({ status: 404, detail, code: "thread_not_found" }))
  }
  return Effect.succeed({
    ...value,
    messages: [...parts.flatMap((part) => part.messages), ...messages],
    system: system ?? last.system,
    tools: tools ?? last.tools
  })
}

/** The prompt. If the client requests a thread, the messages that it `sent` are kept together with the answer once it is complete. */
const threaded = (
  { kept }: Incoming,
  prompted: Prompted,
  sent: Wire.Messages["messages"],
  { system = null, thread, tools = null }: Wire.Messages
): Prompted =>
  kept === undefined || thread === null || thread === undefined
    ? prompted
    : {
      ...prompted,
      replied: (reply) => {
        const content = AnthropicMessages.fromMessage(reply.parsed.message)
        const messages = [...sent, { role: "assistant", content }] as const
        const previous = thread.type === "continue" ? { previous: thread.previous_message_id } : {}
        const keep = Effect.sync(() => kept.threads.set(idOf(prompted), { ...previous, messages, system, tools }))
        return Effect.andThen(keep, prompted.replied(reply))
      }
    }

const askedOf = Effect.fnUntraced(function*(incoming: Incoming, notes: Notes, value: Wire.CountTokens) {
  const asked: Asked = {
    messages: AnthropicMessages.toMessages(value),
    tools: value.tool_choice?.type === "none" ? [] : AnthropicMessages.toToolSpecs(value),
    renderer: yield* Reasoning.choose(incoming, notes, value.model, yield* effortOf(value))
  }
  const { answerer } = incoming
  return { asked, grammar: yield* Structure.grammar({ answerer, notes, model: value.model, asked }, wantedOf(value)) }
})

const form = { kind: "messages", tools: ["custom"] } as const

const read = ClientBody.reading({ ...form, schema: Wire.Messages })

const answered = (incoming: Incoming) =>
  Effect.gen(function*() {
    const { notes, value: sent } = yield* read(incoming)
    const value = yield* rethreaded(incoming, sent)
    const { max_tokens, model, stop_sequences, stream, temperature, tool_choice, top_k, top_p } = value
    const { asked, grammar } = yield* askedOf(incoming, notes, value)
    const found = yield* incoming.answerer.prompted(model, asked, {
      grammar,
      maxTokens: max_tokens,
      temperature,
      topP: top_p,
      topK: top_k,
      isOneCall: tool_choice?.disable_parallel_tool_use === true,
      stops: stop_sequences ?? []
    })
    const prompted = threaded(incoming, found, sent.messages, value)
    return stream === true ? streamed(prompted, notes, value) : yield* whole(prompted, notes, value)
  })

const readCount = ClientBody.reading({ ...form, schema: Wire.CountTokens })

const countTokens = (incoming: Incoming) =>
  Effect.gen(function*() {
    const { notes, value: sent } = yield* readCount(incoming)
    const value = yield* rethreaded(incoming, sent)
    const { asked } = yield* askedOf(incoming, notes, value)
    const chatModel = yield* incoming.answerer.chatModel(value.model)
    const { prompt } = yield* PromptedChat.render(chatModel, asked)
    return HttpServerResponse.jsonUnsafe({ input_tokens: prompt.length })
  })

/** The creation date reported for models, whose real date is unknown. */
const epoch = "1970-01-01T00:00:00Z"

const shown = ({ contextLength, id }: ModelInfo) => ({
  type: "model",
  id,
  display_name: id,
  created_at: epoch,
  max_input_tokens: contextLength,
  max_tokens: contextLength
})

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

/** Handles the requests that `serve` admits. Refusals are sent in Anthropic's format. */
const handled = <R, S>(
  serve: Serve<R>,
  handler: (incoming: Incoming) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, S>
) => Effect.catchTag(Effect.flatMap(serve, handler), "Refusal", refused)

/** The model list, or one model. */
export const models = <R>(serve: Serve<R>) => handled(serve, listed)

export const messages = <R>(serve: Serve<R>) => [
  HttpRouter.route("POST", "/messages", handled(serve, answered)),
  HttpRouter.route("POST", "/messages/count_tokens", handled(serve, countTokens))
]

export const routes = <R>(serve: Serve<R>) => [
  ...messages(serve),
  HttpRouter.route("GET", "/models/*", models(serve))
]
