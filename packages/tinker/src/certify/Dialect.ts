/** A common interface to the chat endpoints next to the Tinker API, for whole and streamed answers. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Answer from "../client/Answer.ts"
import * as Check from "./Check.ts"
import { RawRequests } from "./RawRequests.ts"

export type Body = Readonly<Record<string, unknown>>

export interface Said {
  readonly role: "user" | "assistant"
  readonly content: string
}

/** A conversation and sampling options, named as in chat completions. */
export interface Asked {
  readonly messages: ReadonlyArray<Said>
  readonly system?: string
  readonly max_tokens: number
  readonly temperature?: number
  readonly stop?: ReadonlyArray<string>
  readonly top_p?: number
}

/** The parts of an answer that all dialects have. */
export interface Answered {
  readonly id: string
  readonly model: string
  /** The text of each choice. */
  readonly texts: ReadonlyArray<string>
  /** Why each choice ended: `stop`, `length`, or the dialect's own word for another reason. */
  readonly ends: ReadonlyArray<string>
  /** The stop text that ended an answer, if the dialect reports it. */
  readonly stoppedBy?: string
  readonly prompted: number
  readonly sampled: number
}

export interface Dialect {
  readonly name: string
  /** The path of the endpoint, relative to `/api/v1`. */
  readonly path: string
  readonly fields: (asked: Asked) => Body
  readonly whole: (body: Body) => Answered
  readonly streamed: (events: ReadonlyArray<Body>) => Answered
  /** Whether the dialect has a field for stop texts. */
  readonly hasStops: boolean
  readonly hasTopK: boolean
  readonly hasChoices: boolean
}

/** The value at a path of names and indices; undefined if there is none. */
export const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      Array.isArray(inner) && typeof key === "number"
        ? inner.at(key)
        : Predicate.isObject(inner) && typeof key === "string"
        ? Object.entries(inner).find(([name]) => name === key)?.[1]
        : undefined,
    value
  )

export const listAt = (value: unknown, ...path: ReadonlyArray<string | number>): ReadonlyArray<unknown> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export const textAt = (value: unknown, ...path: ReadonlyArray<string | number>): string => {
  const found = at(value, ...path)
  return typeof found === "string" ? found : ""
}

export const numberAt = (value: unknown, ...path: ReadonlyArray<string | number>): number => {
  const found = at(value, ...path)
  return typeof found === "number" ? found : NaN
}

const head = (body: unknown) => ({ id: textAt(body, "id"), model: textAt(body, "model") })

const openAiUsage = (body: unknown) => ({
  prompted: numberAt(body, "usage", "prompt_tokens"),
  sampled: numberAt(body, "usage", "completion_tokens")
})

const last = (values: ReadonlyArray<unknown>) =>
  values.findLast((value): value is string => typeof value === "string") ?? "none"

/** Assembles the choices from chunks by their index. */
const openAiStream = (textOf: (choice: unknown) => string) => (events: ReadonlyArray<Body>): Answered => {
  const choices = events.flatMap((event) => listAt(event, "choices"))
  const indices = [...new Set(choices.map((choice) => numberAt(choice, "index")))].toSorted((one, other) => one - other)
  const of = (index: number) => choices.filter((choice) => numberAt(choice, "index") === index)
  return {
    ...head(events[0]),
    texts: indices.map((index) => of(index).map(textOf).join("")),
    ends: indices.map((index) => last(of(index).map((choice) => at(choice, "finish_reason")))),
    ...openAiUsage(events.findLast((event) => Predicate.isObject(event["usage"])))
  }
}

const openAiWhole = (textOf: (choice: unknown) => string) => (body: Body): Answered => ({
  ...head(body),
  texts: listAt(body, "choices").map(textOf),
  ends: listAt(body, "choices").map((choice) => textAt(choice, "finish_reason")),
  ...openAiUsage(body)
})

const prefix = "/../../oai/api/v1"

const openAi = { hasStops: true, hasTopK: true, hasChoices: true }

export const chat: Dialect = {
  ...openAi,
  name: "chat completions",
  path: `${prefix}/chat/completions`,
  fields: ({ messages, system, ...options }) => ({
    messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), ...messages],
    ...options
  }),
  whole: openAiWhole((choice) => textAt(choice, "message", "content")),
  streamed: openAiStream((choice) => textAt(choice, "delta", "content"))
}

export const completions: Dialect = {
  ...openAi,
  name: "completions",
  path: `${prefix}/completions`,
  fields: ({ messages, system = "", ...options }) => ({
    prompt: system + messages.map(({ content }) => content).join(" "),
    ...options
  }),
  whole: openAiWhole((choice) => textAt(choice, "text")),
  streamed: openAiStream((choice) => textAt(choice, "text"))
}

const endOfResponse = (status: string) =>
  status === "completed" ? "stop" : status === "incomplete" ? "length" : status || "none"

const response = (body: unknown): Answered => ({
  ...head(body),
  texts: [
    listAt(body, "output").flatMap((item) => listAt(item, "content")).map((part) => textAt(part, "text")).join("")
  ],
  ends: [endOfResponse(textAt(body, "status"))],
  prompted: numberAt(body, "usage", "input_tokens"),
  sampled: numberAt(body, "usage", "output_tokens")
})

export const responses: Dialect = {
  name: "responses",
  path: `${prefix}/responses`,
  hasStops: false,
  hasTopK: false,
  hasChoices: false,
  fields: ({ max_tokens, messages, system, temperature, top_p }) => ({
    input: messages,
    max_output_tokens: max_tokens,
    ...(system === undefined ? {} : { instructions: system }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p })
  }),
  whole: response,
  streamed: (events) => ({
    ...response(at(events.at(-1), "response")),
    texts: [
      events.filter((event) => event["type"] === "response.output_text.delta").map((event) => textAt(event, "delta"))
        .join("")
    ]
  })
}

const ends: Readonly<Record<string, string>> = { end_turn: "stop", stop_sequence: "stop", max_tokens: "length" }

const endOfMessage = (reason: string) => ends[reason] ?? (reason || "none")

const stoppedBy = (value: unknown) => typeof value === "string" ? { stoppedBy: value } : {}

export const messages: Dialect = {
  name: "messages",
  path: "/../../anthropic/api/v1/messages",
  hasStops: true,
  hasTopK: true,
  hasChoices: false,
  fields: ({ stop, ...asked }) => ({ ...asked, ...(stop === undefined ? {} : { stop_sequences: stop }) }),
  whole: (body) => ({
    ...head(body),
    texts: [listAt(body, "content").map((block) => textAt(block, "text")).join("")],
    ends: [endOfMessage(textAt(body, "stop_reason"))],
    ...stoppedBy(body["stop_sequence"]),
    prompted: numberAt(body, "usage", "input_tokens"),
    sampled: numberAt(body, "usage", "output_tokens")
  }),
  streamed: (events) => {
    const begun = at(events.find(({ type }) => type === "message_start"), "message")
    const ended = events.findLast(({ type }) => type === "message_delta")
    return {
      ...head(begun),
      texts: [
        events.filter(({ type }) => type === "content_block_delta").map((event) => textAt(event, "delta", "text"))
          .join("")
      ],
      ends: [endOfMessage(textAt(ended, "delta", "stop_reason"))],
      ...stoppedBy(at(ended, "delta", "stop_sequence")),
      prompted: numberAt(begun, "usage", "input_tokens"),
      sampled: numberAt(ended, "usage", "output_tokens")
    }
  }
}

export const all = [chat, completions, responses, messages]

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/** The data of server-sent events that are JSON objects. */
export const eventsOf = (text: string): ReadonlyArray<Body> =>
  text.split(/\r?\n\r?\n/).flatMap((event) => {
    const data = event.split(/\r?\n/).flatMap((line) => line.startsWith("data:") ? [line.slice(5).trim()] : [])
    const read = parse(data.join("\n"))
    return read._tag === "Some" ? [read.value] : []
  })

/**
 * Whether the status is a client error (4xx), with which a server that lacks the endpoint or a field refuses the
 * request.
 */
const isRefusal = (status: number) => status >= 400 && status < 500

const shown = (text: string) => text.slice(0, 200)

/** Sends a request and returns the answer. The check is absent if the server refuses the request. */
export const sent = Effect.fnUntraced(function*({ name, path }: Pick<Dialect, "name" | "path">, body: Body) {
  const { exchange, model } = yield* RawRequests
  const answer = yield* exchange(path, { model, ...body })
  const text = Answer.textOf(answer)
  if (isRefusal(answer.status)) return yield* Check.absent(`${name}: HTTP ${answer.status} ${shown(text)}`)
  yield* Check.expect(Answer.isSuccess(answer), `${name} that are answered`, `HTTP ${answer.status} ${shown(text)}`)
  return text
})

/** Requests a whole answer as JSON. */
export const body = Effect.fnUntraced(function*(dialect: Pick<Dialect, "name" | "path">, body: Body) {
  const text = yield* sent(dialect, body)
  const read = parse(text)
  return read._tag === "Some"
    ? read.value
    : yield* new Check.Mismatch({ expected: "an answer in JSON", found: shown(text) })
})

/** Requests a whole answer; `more` adds fields that only this dialect has. */
export const ask = (dialect: Dialect, asked: Asked, more: Body = {}) =>
  Effect.map(body(dialect, { ...dialect.fields(asked), ...more }), dialect.whole)

/** Requests the same answer as `ask`, as a stream. */
export const stream = (dialect: Dialect, asked: Asked, more: Body = {}) =>
  Effect.map(
    sent(dialect, {
      ...dialect.fields(asked),
      stream: true,
      ...(dialect.hasChoices ? { stream_options: { include_usage: true } } : {}),
      ...more
    }),
    (text) => dialect.streamed(eventsOf(text))
  )
