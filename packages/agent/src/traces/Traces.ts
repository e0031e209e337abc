/**
 * Reads recorded sessions of real clients as conversations with tool calls.
 *
 * @example
 * Effect.gen(function*() {
 *   const { conversations, report } = yield* Traces.load(["logs/chat.jsonl"])
 *   yield* Console.log(`${conversations.length} conversations, ${report.secrets.size} kinds of secrets`)
 *   yield* Traces.writeConversations("train.jsonl", conversations)
 * })
 */
import { OpenAi } from "@effect-rl/core/renderers"
import { AtomicFile, Jsonl, RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ChatLog from "./ChatLog.ts"
import * as ClaudeCode from "./ClaudeCode.ts"
import * as Joined from "./Joined.ts"
import * as OtelSpans from "./OtelSpans.ts"
import * as PiSession from "./PiSession.ts"
import * as Secrets from "./Secrets.ts"
import * as Trace from "./Trace.ts"

/** The supported formats. A file has the first format that recognizes it. */
const formats: ReadonlyArray<Trace.Format> = [ChatLog.format, OtelSpans.format, ClaudeCode.format, PiSession.format]

/** The names of the formats, for help and messages. */
export const names: ReadonlyArray<string> = formats.map(({ name }) => name)

/** What was read, and what was left out. */
export interface Report {
  /** The number of rows that were read. */
  readonly rows: number
  /** The number of recorded conversations that another recorded conversation repeats or continues. */
  readonly repeated: number
  /** The number of incomplete answers after which no conversation continued. */
  readonly cut: number
  /** The number of rows without a conversation, by reason. */
  readonly without: ReadonlyMap<Trace.Without, number>
  /** The number of secrets that were replaced, by kind. */
  readonly secrets: ReadonlyMap<string, number>
}

export interface Loaded extends Pick<Joined.Joined, "conversations" | "preferences"> {
  readonly report: Report
}

const decodeObject = Schema.decodeEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/**
 * The format of a file's first JSON object; fails with the row's number if the format is unknown. Broken rows before it are left to the
 * reader of the format.
 */
const formatOf = (file: string) =>
  Trace.lines(
    file,
    Effect.fnUntraced(function*(line) {
      const found = yield* Effect.option(decodeObject(line))
      if (Option.isNone(found)) return undefined
      const format = formats.find(({ is }) => is(found.value))
      if (format !== undefined) return format
      const fields = Object.keys(found.value).slice(0, 10).join(", ")
      const has = fields === "" ? "no fields" : `the fields ${fields}`
      return yield* Effect.fail({ message: `has ${has}, expected one of: ${names.join("; ")}` })
    })
  ).pipe(Stream.filter((format) => format !== undefined), Stream.runHead)

/** The rows of a file, in the format recognized by its first JSON object. */
const rowsOf = Effect.fnUntraced(function*(file: string, options?: RowError.Options) {
  const format = yield* formatOf(file)
  if (Option.isSome(format)) return yield* Stream.runCollect(format.value.read(file, options))
  yield* Stream.runDrain(Trace.lines(file, (line) => decodeObject(line), options))
  if (options?.broken === "skip") return []
  return yield* new RowError.RowError({ file, detail: `has no rows, expected one of: ${names.join("; ")}` })
})

const counted = <A>(values: ReadonlyArray<A>): ReadonlyMap<A, number> => {
  const counts = new Map<A, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/**
 * Reads files of recorded sessions into memory, recognises their formats, joins the requests of each session into whole
 * conversations, and redacts secrets. Fails with a `RowError` for a file of no known format, and for a row that cannot
 * be read unless `broken` is `"skip"`.
 */
export const load = Effect.fn("Traces.load")(function*(files: ReadonlyArray<string>, options?: RowError.Options) {
  const rows = (yield* Effect.forEach(files, (file) => rowsOf(file, options))).flat()
  const { conversations, cut, preferences, repeated } = Joined.of(rows.flatMap(({ traces }) => traces))
  const secrets: Secrets.Counts = new Map()
  const [redact, repeat] = [Secrets.messages(secrets), Secrets.messages(new Map())]
  const loaded: Loaded = {
    conversations: conversations.map(Secrets.conversation(secrets)),
    preferences: preferences.map(({ chosen, prompt, rejected, tools }) => {
      const shown = Secrets.conversation(new Map())({ messages: prompt, tools })
      return { prompt: shown.messages, tools: shown.tools, chosen: repeat(chosen), rejected: redact(rejected) }
    }),
    report: {
      rows: rows.length,
      repeated,
      cut,
      without: counted(rows.flatMap(({ without }) => without ?? [])),
      secrets
    }
  }
  return loaded
})

const write = (file: string, rows: ReadonlyArray<object>) =>
  AtomicFile.write(
    file,
    Stream.fromIterable(rows).pipe(Stream.map((row) => `${JSON.stringify(row)}\n`), Stream.encodeText)
  )

/** Writes conversations as lines in OpenAI's fine-tuning format, which `rows` reads. */
export const writeConversations = (file: string, conversations: ReadonlyArray<OpenAi.Conversation>) =>
  write(file, conversations.map(OpenAi.fromConversation))

/** Writes preferences as lines with the messages of `prompt`, `chosen` and `rejected` in OpenAI's format, as TRL reads them. */
export const writePreferences = (file: string, preferences: ReadonlyArray<Joined.Preference>) =>
  write(
    file,
    preferences.map(({ chosen, prompt, rejected, tools }) => ({
      prompt: OpenAi.fromMessages(prompt),
      chosen: OpenAi.fromMessages(chosen),
      rejected: OpenAi.fromMessages(rejected),
      ...(tools.length > 0 && { tools: tools.map(OpenAi.fromToolSpec) })
    }))
  )

const decodeRow = Schema.decodeEffect(Schema.fromJsonString(OpenAi.ChatConversation))

/** Reads conversations from lines in OpenAI's format. Fails with the number of the first line that is not a conversation. */
export const rows = (file: string, options?: RowError.Options) =>
  Jsonl.lines(file, (line) => Effect.flatMap(decodeRow(line), OpenAi.toConversation), options)
