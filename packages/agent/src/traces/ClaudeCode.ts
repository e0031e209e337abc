/**
 * Session files of Claude Code (`~/.claude/projects/…/*.jsonl`). They contain neither the model's instructions nor the
 * tools' descriptions. Each block of a response has its own row. A tool result is found by the id of its call, wherever
 * its row stands.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AnthropicMessages from "../dialect/anthropic/AnthropicMessages.ts"
import * as Anthropic from "../dialect/anthropic/AnthropicRequest.ts"
import { nullable } from "../wire/Json.ts"
import * as Entries from "./Entries.ts"
import * as Trace from "./Trace.ts"

const Content = Schema.Union([Schema.String, Schema.Array(Anthropic.Block)])

const spoken = { uuid: Schema.String, parentUuid: nullable(Schema.String) }

const User = Schema.Struct({ ...spoken, type: Schema.Literal("user"), message: Schema.Struct({ content: Content }) })

const Assistant = Schema.Struct({
  ...spoken,
  type: Schema.Literal("assistant"),
  isApiErrorMessage: nullable(Schema.Boolean),
  message: Schema.Struct({ id: Schema.String, content: Content, stop_reason: nullable(Schema.String) })
})

const Other = Schema.Struct({
  type: Schema.String.check(Schema.makeFilter((type) => type !== "user" && type !== "assistant")),
  uuid: nullable(Schema.String),
  parentUuid: nullable(Schema.String)
})

const Row = Schema.Union([User, Assistant, Other])
type Row = typeof Row.Type

const decode = Schema.decodeEffect(Schema.fromJsonString(Row))

const blocksOf = (content: typeof Content.Type): ReadonlyArray<Anthropic.Block> =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

/**
 * An entry with the message of the user or the model. `row` is undefined for tool results, which are found by their
 * calls, for failed responses, and for entries that only link others.
 */
interface Said extends Entries.Entry {
  readonly row: typeof User.Type | typeof Assistant.Type | undefined
}

const isResults = ({ message: { content } }: typeof User.Type) =>
  typeof content !== "string" && content.length > 0 && content.every(({ type }) => type === "tool_result")

const isSaid = (row: Row): row is typeof User.Type | typeof Assistant.Type =>
  "message" in row && (row.type === "user" ? !isResults(row) : row.isApiErrorMessage !== true)

const saidOf = (row: Row): ReadonlyArray<Said> =>
  row.uuid === undefined || row.uuid === null
    ? []
    : [{ id: row.uuid, parent: row.parentUuid ?? null, row: isSaid(row) ? row : undefined }]

/** A session: the rows of each response, by response id, and the tool results, by call id. */
interface Session {
  readonly responses: Readonly<Record<string, ReadonlyArray<typeof Assistant.Type>>>
  readonly results: ReadonlyMap<string, Anthropic.ToolResult>
}

const messagesOf = (
  { responses, results }: Session,
  path: ReadonlyArray<Said>
): { readonly messages: ReadonlyArray<Anthropic.Message>; readonly isCut: boolean } => {
  const messages: Array<Anthropic.Message> = []
  const seen = new Set<string>()
  for (const { row } of path) {
    if (row === undefined) continue
    if (row.type === "user") {
      messages.push({ role: "user", content: row.message.content })
      continue
    }
    const { id } = row.message
    if (seen.has(id)) continue
    seen.add(id)
    const rows = responses[id] ?? []
    const content = rows.flatMap(({ message }) => blocksOf(message.content))
    messages.push({ role: "assistant", content })
    const isCut = rows.some(({ message }) => Trace.isCut(message.stop_reason))
    const calls = content.flatMap((block) => block.type === "tool_use" ? [block.id] : [])
    const answered = calls.flatMap((call) => results.get(call) ?? [])
    if (isCut || answered.length < calls.length) return { messages, isCut }
    if (answered.length > 0) messages.push({ role: "user", content: answered })
  }
  return { messages: messages.slice(0, messages.findLastIndex(({ role }) => role === "assistant") + 1), isCut: false }
}

const traceOf = (session: Session, path: ReadonlyArray<Said>): ReadonlyArray<Trace.Trace> => {
  const { isCut, messages: [first, ...others] } = messagesOf(session, path)
  if (first === undefined || others.length === 0) return []
  const messages = AnthropicMessages.toMessages({ model: "", messages: [first, ...others] })
  return [{ messages, tools: [], isCut }]
}

const sessionOf = (rows: ReadonlyArray<Row>): Session => {
  const assistants = rows.flatMap((row) => row.type === "assistant" && "message" in row ? [row] : [])
  const users = rows.flatMap((row) => row.type === "user" && "message" in row ? [row] : [])
  return {
    responses: Arr.groupBy(assistants, ({ message: { id } }) => id),
    results: new Map(
      users.flatMap(({ message: { content } }) =>
        blocksOf(content).flatMap((block) => block.type === "tool_result" ? [[block.tool_use_id, block]] : [])
      )
    )
  }
}

/** Session files of Claude Code. */
export const format: Trace.Format = {
  name: "sessions of Claude Code",
  is: (first) => "sessionId" in first || "leafUuid" in first || first["type"] === "file-history-snapshot",
  read: (file, options) =>
    Stream.fromIterableEffect(
      Effect.map(Stream.runCollect(Trace.lines(file, decode, options)), (rows) => {
        const session = sessionOf(rows)
        const paths = Entries.paths(Entries.only(rows.flatMap(saidOf), ({ row }) => row !== undefined))
        return Trace.session(rows.length, paths.flatMap((path) => traceOf(session, path)))
      })
    )
}
