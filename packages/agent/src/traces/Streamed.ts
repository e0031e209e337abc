/** Assembles streamed answers from logged server-sent events, in the form of answers that were not streamed. */
import type { OpenAi } from "@effect-rl/core/renderers"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { nullable } from "../wire/Json.ts"
import * as Trace from "./Trace.ts"

const parse = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

type Events = ReadonlyArray<Readonly<Record<string, Schema.Json>>>

/**
 * The JSON objects in the `data` lines of an event stream, in order. Comments, event names and the final `[DONE]` are
 * skipped.
 */
export const events = (text: string): Effect.Effect<Events, Schema.SchemaError> =>
  Effect.forEach(
    text.split(/\r?\n/).flatMap((line) => /^data: ?(\{.*)$/.exec(line)?.[1] ?? []),
    (data) => parse(data)
  )

const ChatChunk = Schema.Struct({
  choices: Schema.Array(Schema.Struct({
    index: Schema.Int,
    finish_reason: nullable(Schema.String),
    delta: Schema.Struct({
      content: nullable(Schema.String),
      reasoning_content: nullable(Schema.String),
      tool_calls: nullable(Schema.Array(Schema.Struct({
        index: Schema.Int,
        id: nullable(Schema.String),
        function: nullable(Schema.Struct({ name: nullable(Schema.String), arguments: nullable(Schema.String) }))
      })))
    })
  }))
})
type Choice = (typeof ChatChunk.Type)["choices"][number]

const joined = (texts: ReadonlyArray<string | null | undefined>) => texts.map((text) => text ?? "").join("")

const called = (deltas: ReadonlyArray<Choice["delta"]>): ReadonlyArray<OpenAi.ToolCall> => {
  const pieces = deltas.flatMap(({ tool_calls }) => tool_calls ?? [])
  return Object.values(Arr.groupBy(pieces, ({ index }) => String(index))).map((pieces) => ({
    id: pieces.find(({ id }) => typeof id === "string")?.id ?? null,
    function: {
      name: joined(pieces.map((piece) => piece.function?.name)),
      arguments: joined(pieces.map((piece) => piece.function?.arguments))
    }
  }))
}

const choiceOf = (pieces: ReadonlyArray<Choice>) => {
  const deltas = pieces.map(({ delta }) => delta)
  const calls = called(deltas)
  return {
    finish_reason: pieces.findLast(({ finish_reason }) => typeof finish_reason === "string")?.finish_reason ??
      "incomplete",
    message: {
      role: "assistant",
      content: joined(deltas.map(({ content }) => content)),
      reasoning_content: joined(deltas.map(({ reasoning_content }) => reasoning_content)),
      ...(calls.length > 0 && { tool_calls: calls })
    }
  }
}

const decodeChunks = Schema.decodeUnknownEffect(Schema.Array(ChatChunk))

/** The answer of a streamed chat completion. */
export const chat = Effect.fnUntraced(function*(chunks: Events) {
  const choices = (yield* decodeChunks(chunks.filter(({ choices }) => Array.isArray(choices)))).flatMap((chunk) =>
    chunk.choices
  )
  return { choices: Object.values(Arr.groupBy(choices, ({ index }) => String(index))).map(choiceOf) }
})

const BlockStart = Schema.Struct({
  index: Schema.Int,
  content_block: Schema.Record(Schema.String, Schema.Json)
})
const BlockDelta = Schema.Struct({
  index: Schema.Int,
  delta: Schema.Struct({
    text: nullable(Schema.String),
    thinking: nullable(Schema.String),
    signature: nullable(Schema.String),
    partial_json: nullable(Schema.String)
  })
})
const MessageDelta = Schema.Struct({ delta: Schema.Struct({ stop_reason: nullable(Schema.String) }) })

const decodeStarts = Schema.decodeUnknownEffect(Schema.Array(BlockStart))
const decodeDeltas = Schema.decodeUnknownEffect(Schema.Array(BlockDelta))
const decodeEnds = Schema.decodeUnknownEffect(Schema.Array(MessageDelta))
const decodeInput = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

/** A content block of an answer. If the answer is incomplete, a call whose input breaks off is left out. */
const blockOf = Effect.fnUntraced(function*(
  { content_block: block, index }: typeof BlockStart.Type,
  all: ReadonlyArray<typeof BlockDelta.Type>,
  isCut: boolean
) {
  const deltas = all.filter((delta) => delta.index === index).map(({ delta }) => delta)
  switch (block["type"]) {
    case "text":
      return [{ ...block, text: joined([String(block["text"]), ...deltas.map(({ text }) => text)]) }]
    case "thinking":
      return [{ ...block, thinking: joined([String(block["thinking"]), ...deltas.map(({ thinking }) => thinking)]) }]
    case "tool_use": {
      const text = joined(deltas.map(({ partial_json }) => partial_json))
      if (text === "") return [block]
      const called = Effect.map(decodeInput(text), (input) => [{ ...block, input }])
      return yield* isCut ? Effect.orElseSucceed(called, () => []) : called
    }
    default:
      return [block]
  }
})

/** The answer of a streamed message. */
export const message = Effect.fnUntraced(function*(events: Events) {
  const of = (name: string) => events.filter(({ type }) => type === name)
  const deltas = yield* decodeDeltas(of("content_block_delta"))
  const starts = yield* decodeStarts(of("content_block_start"))
  const ends = yield* decodeEnds(of("message_delta"))
  const stop_reason = ends.at(-1)?.delta.stop_reason ?? "incomplete"
  const content = yield* Effect.forEach(starts, (start) => blockOf(start, deltas, Trace.isCut(stop_reason)))
  return { content: content.flat(), stop_reason }
})
