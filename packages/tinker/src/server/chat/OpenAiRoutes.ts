/** Chat completions and completions for OpenAI's clients, from base models and from checkpoints. */
import { type Message, ModelInput, OpenAi, type Renderer, ResponseStream, type Sampling } from "@effect-rl/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import * as Wire from "../../wire/OpenAiRequest.ts"
import * as Body from "../Body.ts"
import type { Caller } from "../Caller.ts"
import type { Parts } from "../Parts.ts"
import { fromTinkerError, invalid, type Refusal } from "../Refusal.ts"
import * as Conversation from "./Conversation.ts"
import * as EventStream from "./EventStream.ts"

type Request = Omit<Wire.Completion, "prompt" | "logprobs">

const settingsOf = ({ max_tokens, seed, temperature, top_k, top_p }: Request): Conversation.Settings => ({
  maxTokens: max_tokens ?? undefined,
  temperature: temperature ?? undefined,
  topP: top_p ?? undefined,
  topK: top_k ?? undefined,
  seed: seed ?? undefined
})

const stops = (stop: Request["stop"]) => typeof stop === "string" ? [stop] : stop ?? []

interface Head {
  readonly id: string
  readonly created: number
  readonly model: string
}

const headOf = (parts: Parts, prefix: string, model: string): Effect.Effect<Head> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    id: `${prefix}-${parts.uniqueId()}`,
    created: Math.floor(now / 1000),
    model
  }))

const usageOf = (prompt: ModelInput.ModelInput, sampled: number) => ({
  prompt_tokens: prompt.length,
  completion_tokens: sampled,
  total_tokens: prompt.length + sampled
})

const sampledIn = (sequences: ReadonlyArray<Sampling.SampledTokens>) =>
  sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)

/** The renderer says where a model stops; text of the client's own would be found too late. */
const noStops = (stop: Request["stop"]) =>
  stops(stop).length === 0
    ? Effect.void
    : Effect.fail(invalid(`stop is ${JSON.stringify(stop)}, expected none: a chat stops where its model's turns end`))

const logprobsOf = ({ chatModel: { tokenizer } }: Conversation.Source, sequence: Sampling.SampledTokens) =>
  Array.from(sequence.tokens, (token, index) => {
    const text = tokenizer.decode([token])
    return {
      token: text,
      logprob: sequence.logprobs[index] ?? 0,
      bytes: [...new TextEncoder().encode(text)],
      top_logprobs: []
    }
  })

const finishOf = (parsed: Renderer.Parsed, stopReason: Sampling.SampleStopReason) =>
  Conversation.isCut(parsed, stopReason) ? "length" : OpenAi.finishReason(parsed)

const wholeChat = Effect.fnUntraced(function*(
  parts: Parts,
  source: Conversation.Source,
  request: Sampling.SampleRequest,
  { logprobs, model, n }: Wire.ChatCompletion
) {
  const { sequences } = yield* Conversation.sample(parts, source, { ...request, numSamples: n ?? 1 })
  const choices = yield* Effect.forEach(
    sequences,
    (sequence, index) =>
      Effect.map(Conversation.parse(source, sequence.tokens), (parsed) => ({
        index,
        message: OpenAi.fromMessage(parsed.message),
        finish_reason: finishOf(parsed, sequence.stopReason),
        logprobs: logprobs === true ? { content: logprobsOf(source, sequence), refusal: null } : null
      }))
  )
  return HttpServerResponse.jsonUnsafe({
    ...(yield* headOf(parts, "chatcmpl", model)),
    object: "chat.completion",
    choices,
    usage: usageOf(request.prompt, sampledIn(sequences))
  })
})

const failed = (detail: string): EventStream.Event => ({
  data: JSON.stringify({ error: { message: detail, type: "server_error" } })
})

/** The deltas of one choice, then why it ended. */
const choiceEvents = (
  parts: Parts,
  source: Conversation.Source,
  request: Sampling.SampleRequest,
  messages: ReadonlyArray<Message.Message>,
  counted: (tokens: number) => void
) => {
  let stopReason: Sampling.SampleStopReason = "length"
  let calls = 0
  const tokens = Stream.map(Conversation.pieces(parts, source, request), (piece) => {
    stopReason = piece.stopReason
    counted(piece.tokens.length)
    return piece.tokens
  })
  return Stream.map(ResponseStream.events(source.chatModel.renderer, messages, tokens), (event) => {
    if (event._tag === "Done") return { delta: {}, finish_reason: finishOf(event.parsed, stopReason) }
    const delta = OpenAi.fromDelta(event, calls)
    if (delta.tool_calls !== undefined) calls++
    return { delta, finish_reason: null }
  })
}

const streamedChat = Effect.fnUntraced(function*(
  parts: Parts,
  source: Conversation.Source,
  request: Sampling.SampleRequest,
  messages: ReadonlyArray<Message.Message>,
  { model, n, stream_options }: Wire.ChatCompletion
) {
  const head = { ...(yield* headOf(parts, "chatcmpl", model)), object: "chat.completion.chunk" }
  const context = yield* Effect.context<Caller>()
  let sampled = 0
  const count = (tokens: number) => {
    sampled += tokens
  }
  const chunk = (index: number, choice: object): EventStream.Event => ({
    data: JSON.stringify({ ...head, choices: [{ index, ...choice }] })
  })
  const opening = { delta: { role: "assistant", content: "" }, finish_reason: null }
  const choice = (index: number) => {
    const { params } = request
    const own = { ...request, params: params.seed === undefined ? params : { ...params, seed: params.seed + index } }
    const events = choiceEvents(parts, source, own, messages, count)
    return Stream.map(Stream.concat(Stream.succeed(opening), events), (choice) => chunk(index, choice))
  }
  const usage = Stream.suspend(() =>
    stream_options?.include_usage === true
      ? Stream.succeed({ data: JSON.stringify({ ...head, choices: [], usage: usageOf(request.prompt, sampled) }) })
      : Stream.empty
  )
  const choices = Stream.flatMap(Stream.range(0, (n ?? 1) - 1), choice, { concurrency: n ?? 1 })
  const events = choices.pipe(
    Stream.concat(usage),
    Stream.concat(Stream.succeed({ data: "[DONE]" })),
    Stream.provideContext(context)
  )
  return EventStream.respond(events, failed)
})

const chatCompletion = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.ChatCompletion)
    yield* noStops(value.stop)
    const messages = yield* Effect.mapError(OpenAi.toMessages(value.messages), ({ message }) => invalid(message))
    const source = yield* Conversation.source(parts, value.model)
    const tools = value.tool_choice === "none" ? [] : (value.tools ?? []).map(OpenAi.toToolSpec)
    const rendered = yield* Conversation.render(source, { model: value.model, messages, tools })
    const settings = settingsOf({ ...value, max_tokens: value.max_completion_tokens ?? value.max_tokens ?? null })
    const request = yield* Conversation.request(source, rendered.prompt, source.chatModel.renderer.stop, settings)
    if (value.stream !== true) return yield* wholeChat(parts, source, request, value)
    if (value.logprobs === true) return yield* invalid("logprobs is true, expected false in a stream")
    return yield* streamedChat(parts, source, request, rendered.messages, value)
  })

const completion = (parts: Parts) =>
  Effect.gen(function*() {
    const { value } = yield* Body.json(Wire.Completion)
    if (value.stream === true) return yield* invalid("stream is true, expected false: stream chat/completions")
    const source = yield* Conversation.source(parts, value.model)
    const { tokenizer } = source.chatModel
    const prompt = ModelInput.fromTokens(
      typeof value.prompt === "string" ? tokenizer.encode(value.prompt) : value.prompt
    )
    const request = yield* Conversation.request(source, prompt, stops(value.stop), settingsOf(value))
    const { sequences } = yield* Conversation.sample(parts, source, { ...request, numSamples: value.n ?? 1 })
    return HttpServerResponse.jsonUnsafe({
      ...(yield* headOf(parts, "cmpl", value.model)),
      object: "text_completion",
      choices: sequences.map((sequence, index) => ({
        index,
        text: tokenizer.decode(sequence.tokens),
        finish_reason: sequence.stopReason,
        logprobs: value.logprobs !== 0 ? null : {
          tokens: Array.from(sequence.tokens, (token) => tokenizer.decode([token])),
          token_logprobs: Array.from(sequence.logprobs)
        }
      })),
      usage: usageOf(prompt, sampledIn(sequences))
    })
  })

const models = (parts: Parts) =>
  Effect.map(
    Effect.mapError(parts.tinker.models, fromTinkerError),
    (names) =>
      HttpServerResponse.jsonUnsafe({
        object: "list",
        data: names.map((id) => ({ id, object: "model", created: 0, owned_by: "effect-rl" }))
      })
  )

/** What OpenAI's clients read of a refusal. */
const refused = ({ detail, headers, status }: Refusal) =>
  Effect.succeed(
    HttpServerResponse.jsonUnsafe(
      {
        error: {
          message: detail,
          type: status < 500 ? "invalid_request_error" : "server_error",
          param: null,
          code: null
        }
      },
      { status, ...(headers === undefined ? {} : { headers }) }
    )
  )

const answering = <R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, R>) =>
  Effect.catchTag(handler, "Refusal", refused)

export const prefix = "/oai/api/v1"

export const routes = (parts: Parts) => [
  HttpRouter.route("POST", `${prefix}/chat/completions`, answering(chatCompletion(parts))),
  HttpRouter.route("POST", `${prefix}/completions`, answering(completion(parts))),
  HttpRouter.route("GET", `${prefix}/models`, answering(models(parts)))
]
