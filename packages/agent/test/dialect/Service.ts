/** The routes of all dialects over a scripted backend, called in process as an agent would. */
import { type Answerer, Dialects, type Notes, Refusal, Samplers } from "@effect-rl/agent"
import { ChatModel, Tinker } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { type Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServerRequest } from "effect/http"

const { characters } = TestTokenizer

/** The model name that agents use for the scripted model. */
export const model = "policy"

export const instruct = "Qwen/Qwen3-4B-Instruct-2507"

export interface Options {
  /** The base model, whose family determines tools and reasoning modes. */
  readonly base?: string
  readonly contextLength?: number
  /** Whether the backend supports grammars. Default: false. */
  readonly hasGrammars?: boolean
  readonly isLenient?: boolean
  readonly sample: Script.SampleScript
  /** Wraps the answerer between the dialects and the samplers. */
  readonly answerer?: (answerer: Answerer.Answerer) => Effect.Effect<Answerer.Answerer, Refusal.Refusal>
}

/** The JSON of an answer. */
export type Body = ReturnType<typeof JSON.parse>

export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Body
}

const opening = "<|im_start|>assistant\n"

/** The text of a prompt. */
export const shown = ({ chunks }: Sampling.SampleRequest["prompt"]) =>
  characters.decode(chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens]))

/** Answers every conversation with this text, in pieces of the requested length. */
export const saying = (text: string): Script.SampleScript => ({ numSamples = 1, params, prompt }) => {
  const answer = characters.encode(text)
  const before = shown(prompt)
  const said = before.includes(opening) ? before.slice(before.lastIndexOf(opening) + opening.length) : ""
  const from = characters.encode(said).length
  const tokens = answer.slice(from, from + params.maxTokens)
  const stopReason = from + tokens.length === answer.length ? "stop" : "length"
  const sequence = { tokens, logprobs: new Float32Array(tokens.length).fill(-0.5), stopReason } as const
  return { sequences: Array.from({ length: numSamples }, () => sequence) }
}

const body = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ text }) => text).pipe(
  Effect.mapError(({ message }) => Refusal.badRequest(message))
)

const parsed = (text: string): Body => text.startsWith("{") ? JSON.parse(text) : {}

/** Creates a service that lives as long as the scope. */
export const make = Effect.fnUntraced(function*(
  { answerer = Effect.succeed, base = instruct, contextLength = 4096, hasGrammars = false, isLenient = false, sample }:
    Options
) {
  const sampling = ["topkSampleLogprobs" as const, ...(hasGrammars ? ["grammar" as const] : [])]
  const context = yield* Layer.build(
    Layer.merge(
      ScriptedTinker.layer({ models: { [base]: { contextLength, sampling } }, sample }),
      TestTokenizer.layer()
    )
  )
  const samplers = yield* Effect.gen(function*() {
    const chatModel = yield* ChatModel.resolve(base)
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: base }))
    return Samplers.answerer({ [model]: { chatModel, client } })
  }).pipe(Effect.provideContext(context))
  const notes: Array<Notes.Note> = []
  const noted = (note: Notes.Note) => Effect.sync(() => void notes.push(note))
  const serve = Effect.map(
    Effect.suspend(() => answerer(samplers)),
    (answerer) => ({ answerer, body, isLenient, noted })
  )
  const handle = HttpEffect.toWebHandler(yield* HttpRouter.toHttpEffect(HttpRouter.addAll(Dialects.routes(serve))))
  const send = Effect.fnUntraced(function*(request: Request) {
    const response = yield* Effect.promise(() => handle(request))
    const text = yield* Effect.promise(() => response.text())
    return { status: response.status, headers: response.headers, text, body: parsed(text) } satisfies Response
  })
  const url = (path: string) => `http://agent${path}`
  return {
    notes,
    /** Sends a text as the body. */
    send: (path: string, text: string) => send(new Request(url(path), { method: "POST", body: text })),
    get: (path: string, headers: Readonly<Record<string, string>> = {}) => send(new Request(url(path), { headers })),
    post: (path: string, content: object) =>
      send(new Request(url(path), { method: "POST", body: JSON.stringify({ model, ...content }) }))
  }
})

export type Service = Effect.Success<ReturnType<typeof make>>

/** The data of the server-sent events. */
export const events = ({ text }: Response): ReadonlyArray<Body> =>
  text.split("\n\n").flatMap((event) => {
    const data = /^(?:event: .*\n)?data: (.*)$/s.exec(event)?.[1]
    return data === undefined || data === "[DONE]" ? [] : [JSON.parse(data)]
  })

/** A chat dialect: how to send requests, and where to find the parts of its answers. */
export interface Dialect {
  readonly path: string
  readonly conversation: object
  readonly tool: (name: string, parameters: object, more?: object) => object
  readonly texts: (body: Body) => string
  readonly calls: (body: Body) => ReadonlyArray<string>
  readonly sampled: (body: Body) => number
  readonly warnings: (body: Body) => ReadonlyArray<string>
  /** The calls and warnings in a stream. */
  readonly streamedCalls: (events: ReadonlyArray<Body>) => ReadonlyArray<string>
  readonly streamedWarnings: (events: ReadonlyArray<Body>) => ReadonlyArray<string>
  /** The error of a refusal. */
  readonly message: (body: Body) => string
}

const openAiMessage = (body: Body) => String(body["error"]?.message ?? "")

export const chat: Dialect = {
  path: "/chat/completions",
  conversation: { messages: [{ role: "user", content: "Hi" }] },
  tool: (name, parameters, more = {}) => ({
    type: "function",
    function: { name, description: "", parameters, ...more }
  }),
  texts: ({ choices }) => choices[0].message.content,
  calls: ({ choices }) => (choices[0].message.tool_calls ?? []).map((call: Body) => call["function"].name),
  sampled: ({ usage }) => usage.completion_tokens,
  warnings: ({ choices }) => choices[0].warnings ?? [],
  streamedCalls: (events) =>
    events.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []).map((call: Body) => call["function"].name),
  streamedWarnings: (events) => events.flatMap(({ choices }) => choices[0]?.warnings ?? []),
  message: openAiMessage
}

export const responses: Dialect = {
  path: "/responses",
  conversation: { input: "Hi" },
  tool: (name, parameters, more = {}) => ({ type: "function", name, description: "", parameters, ...more }),
  texts: ({ output }) => output.flatMap(({ content = [] }: Body) => content).map(({ text }: Body) => text).join(""),
  calls: ({ output }) => output.flatMap(({ name, type }: Body) => type === "function_call" ? [name] : []),
  sampled: ({ usage }) => usage.output_tokens,
  warnings: ({ warnings }) => warnings ?? [],
  streamedCalls: (events) =>
    events.flatMap(({ response, type }) => type === "response.completed" ? responses.calls(response) : []),
  streamedWarnings: (events) =>
    events.flatMap(({ response, type }) => type === "response.completed" ? response.warnings ?? [] : []),
  message: openAiMessage
}

export const messages: Dialect = {
  path: "/messages",
  conversation: { max_tokens: 500, messages: [{ role: "user", content: "Hi" }] },
  tool: (name, parameters, more = {}) => ({ name, description: "", input_schema: parameters, ...more }),
  texts: ({ content }) => content.map(({ text = "" }: Body) => text).join(""),
  calls: ({ content }) => content.flatMap(({ name, type }: Body) => type === "tool_use" ? [name] : []),
  sampled: ({ usage }) => usage.output_tokens,
  warnings: ({ warnings }) => warnings ?? [],
  streamedCalls: (events) => events.flatMap(({ content_block }) => content_block?.name ?? []),
  streamedWarnings: (events) => events.flatMap(({ type, warnings }) => type === "message_delta" ? warnings ?? [] : []),
  message: openAiMessage
}

export const dialects = { chat, responses, messages }
