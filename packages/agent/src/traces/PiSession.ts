/**
 * Session files of Pi (`~/.pi/agent/sessions/…/*.jsonl`). They contain neither the model's instructions nor the tools'
 * descriptions. A conversation ends where the file no longer shows what the model was sent, such as at a compaction, a
 * branch summary or a command that the user ran.
 */
import type { Message } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { nullable } from "../wire/Json.ts"
import * as Entries from "./Entries.ts"
import * as Trace from "./Trace.ts"

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

const Image = Schema.Struct({
  type: Schema.Literal("image"),
  data: Schema.Uint8ArrayFromBase64,
  mimeType: Schema.Literals(["image/png", "image/jpeg"])
})

const Shown = Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, Image]))])

const User = Schema.Struct({ role: Schema.Literal("user"), content: Shown })

const Assistant = Schema.Struct({
  role: Schema.Literal("assistant"),
  stopReason: nullable(Schema.String),
  content: Schema.Array(Schema.Union([
    Text,
    Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String }),
    Schema.Struct({
      type: Schema.Literal("toolCall"),
      id: Schema.String,
      name: Schema.String,
      arguments: Schema.Record(Schema.String, Schema.Json)
    })
  ]))
})

const ToolResult = Schema.Struct({
  role: Schema.Literal("toolResult"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  content: Shown
})

const known = ["user", "assistant", "toolResult"]

const OtherMessage = Schema.Struct({ role: Schema.String.check(Schema.makeFilter((role) => !known.includes(role))) })

const linked = { id: nullable(Schema.String), parentId: nullable(Schema.String) }

const Row = Schema.Union([
  Schema.Struct({
    ...linked,
    type: Schema.Literal("message"),
    message: Schema.Union([User, Assistant, ToolResult, OtherMessage])
  }),
  Schema.Struct({ ...linked, type: Schema.String.check(Schema.makeFilter((type) => type !== "message")) })
])
type Row = typeof Row.Type

const decode = Schema.decodeEffect(Schema.fromJsonString(Row))

const contentOf = (content: typeof Shown.Type): Message.Message["content"] =>
  typeof content === "string" ? content : content.map((part): Message.ContentPart =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image", data: part.data, format: part.mimeType === "image/png" ? "png" : "jpeg" }
  )

const assistantOf = ({ content }: typeof Assistant.Type): Message.Message => {
  const toolCalls = content.flatMap((part) =>
    part.type === "toolCall"
      ? [{ id: part.id, function: { name: part.name, arguments: JSON.stringify(part.arguments) } }]
      : []
  )
  return {
    role: "assistant",
    content: content.flatMap((part): ReadonlyArray<Message.ContentPart> => {
      if (part.type === "text") return [{ type: "text", text: part.text }]
      return part.type === "thinking" ? [{ type: "thinking", thinking: part.thinking }] : []
    }),
    ...(toolCalls.length > 0 && { toolCalls })
  }
}

/** Types of rows after which it is unknown what the model was sent. */
const endings = new Set(["compaction", "branch_summary", "custom_message", "context_transform", "ephemeral"])

/**
 * Whether an answer was interrupted or failed. Pi continues without such an answer: it sends neither the answer nor the
 * results of its calls to the model.
 */
const isBroken = ({ stopReason }: typeof Assistant.Type) => stopReason === "error" || stopReason === "aborted"

const traceOf = (path: ReadonlyArray<Row>): ReadonlyArray<Trace.Trace> => {
  const messages: Array<Message.Message> = []
  const called = new Set<string | undefined>()
  let isCut = false
  for (const row of path) {
    if (endings.has(row.type)) break
    if (!("message" in row)) continue
    const { message } = row
    if (!("content" in message)) break
    if (message.role === "assistant" && isBroken(message)) continue
    if (message.role === "user") messages.push({ role: "user", content: contentOf(message.content) })
    else if (message.role === "assistant") {
      const answer = assistantOf(message)
      messages.push(answer)
      for (const { id } of answer.toolCalls ?? []) called.add(id)
      isCut = Trace.isCut(message.stopReason)
    } else {
      const { content, toolCallId, toolName } = message
      if (!called.has(toolCallId)) continue
      messages.push({ role: "tool", content: contentOf(content), toolCallId, name: toolName })
    }
  }
  const end = messages.findLastIndex(({ role }) => role === "assistant") + 1
  return end < 2 ? [] : [{ messages: messages.slice(0, end), tools: [], isCut }]
}

/** The rows as entries. In the first version of the format rows have no ids, and each follows the row before it. */
const entriesOf = (rows: ReadonlyArray<Row>) =>
  rows.map((row, index) => ({
    row,
    id: row.id ?? String(index),
    parent: row.parentId ?? (row.id === undefined && index > 0 ? rows[index - 1]?.id ?? String(index - 1) : null)
  }))

/** Session files of Pi. */
export const format: Trace.Format = {
  name: "sessions of Pi",
  is: (first) => first["type"] === "session" && "cwd" in first,
  read: (file, options) =>
    Stream.fromIterableEffect(
      Effect.map(Stream.runCollect(Trace.lines(file, decode, options)), (rows) => {
        const paths = Entries.paths(
          Entries.only(entriesOf(rows), ({ row }) => row.type === "message" || endings.has(row.type))
        )
        return Trace.session(rows.length, paths.flatMap((path) => traceOf(path.map(({ row }) => row))))
      })
    )
}
