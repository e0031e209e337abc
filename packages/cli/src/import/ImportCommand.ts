/** `effect-rl import SOURCE PLACE`: writes recorded sessions of real clients as conversations to train on. */
import { Traces } from "@effect-rl/agent/traces"
import { InvalidOption, Message } from "@effect-rl/core"
import { OpenAi } from "@effect-rl/core/renderers"
import { RowError, Rows } from "@effect-rl/files"
import { AgentTasks, Decontamination } from "@effect-rl/recipes"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as NewFile from "../NewFile.ts"

const flags = {
  source: Argument.String("source").pipe(
    Argument.withDescription(
      `A .jsonl file of recorded sessions, or a folder with such files: ${Traces.names.join("; ")}`
    )
  ),
  out: Argument.String("place").pipe(
    Argument.withDescription("File to write the conversations to, in OpenAI's format")
  ),
  preferences: Flag.String("preferences").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription(
      "File to write pairs of answers to: an answer that was requested again or edited, and its replacement"
    ),
    Flag.optional
  ),
  heldOut: Flag.String("held-out").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("Leave out conversations that repeat a task, question, prompt or user message of this file"),
    Flag.optional
  ),
  skipInvalid: Flag.Boolean("skip-invalid").pipe(
    Flag.withDescription("Leave out rows that cannot be read, and say which"),
    Flag.withDefault(false)
  )
}

/** The files of a folder and its subfolders, sorted, or the file itself. */
const filesOf = Effect.fnUntraced(function*(source: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = yield* Effect.orElseSucceed(fs.readDirectory(source, { recursive: true }), () => undefined)
  if (names === undefined) return [source]
  const files = names.filter((name) => name.endsWith(".jsonl")).toSorted().map((name) => path.join(source, name))
  return files.length > 0
    ? files
    : yield* new RowError.RowError({ file: source, detail: "has no file that ends in .jsonl, expected at least one" })
})

const HeldOut = Schema.Union([
  OpenAi.ChatConversation,
  Schema.Record(Schema.String, Schema.Json)
])

const isConversation = (row: typeof HeldOut.Type): row is OpenAi.ChatConversation => Array.isArray(row["messages"])

/** The texts of a held-out file: what users ask in its conversations, or its tasks. */
const heldOutTexts = (file: string) =>
  Stream.runCollect(Rows.fromFile(file, HeldOut)).pipe(
    Effect.flatMap(Effect.forEach((row, index) => {
      const texts = isConversation(row) ? row.messages.flatMap(askedIn) : [AgentTasks.textOf(row)]
      if (texts.some((text) => text !== "")) return Effect.succeed(texts)
      const detail = "has no text, expected one as task, question, prompt or messages of the user"
      return Effect.fail(new RowError.RowError({ file, row: index + 1, detail }))
    })),
    Effect.map((texts) => texts.flat())
  )

const askedIn = ({ content, role }: OpenAi.ChatMessage): ReadonlyArray<string> => {
  if (role !== "user") return []
  if (typeof content === "string") return [content]
  return (content ?? []).flatMap((part) => part.type === "text" ? [part.text] : [])
}

/** Fails if a file that is to be written exists, or is to be written twice. */
const checkNew = Effect.fnUntraced(function*(out: string, preferences: Option.Option<string>) {
  const path = yield* Path.Path
  yield* NewFile.check("place", out)
  if (Option.isNone(preferences)) return
  yield* NewFile.check("preferences", preferences.value)
  if (path.resolve(preferences.value) !== path.resolve(out)) return
  return yield* new InvalidOption.InvalidOption({
    field: "preferences",
    found: `${preferences.value}, where the conversations go`,
    expected: "another file"
  })
})

const without = { failed: "of failed requests", other: "without an answer" }

const counted = (counts: Iterable<readonly [name: string, count: number]>) =>
  Array.from(counts).flatMap(([name, count]) => count > 0 ? [`${count} ${name}`] : []).join(", ") || "nothing"

export const importTraces = Command.make(
  "import",
  flags,
  Effect.fnUntraced(function*({ heldOut, out, preferences, skipInvalid, source }) {
    yield* checkNew(out, preferences)
    const files = yield* filesOf(source)
    const { report, ...loaded } = yield* Traces.load(files, { broken: skipInvalid ? "skip" : "fail" })
    const texts = Option.isSome(heldOut) ? yield* heldOutTexts(heldOut.value) : []
    const repeats = Decontamination.repeating(texts)
    const isKept = (messages: ReadonlyArray<Message.Message>) =>
      !messages.some((message) => repeats(Message.text(message)))
    const conversations = loaded.conversations.filter(({ messages }) => isKept(messages))
    yield* Traces.writeConversations(out, conversations)
    yield* Console.log(`read: ${report.rows} rows of ${files.length} files`)
    const left = Array.from(report.without, ([reason, count]) => [without[reason], count] as const)
    yield* Console.log(`left out: ${
      counted([
        ["that another one repeats or continues", report.repeated],
        ["cut off", report.cut],
        ["held out", loaded.conversations.length - conversations.length],
        ...left
      ])
    }`)
    yield* Console.log(`redacted: ${counted(report.secrets)}`)
    yield* Console.log(`written: ${out}, ${conversations.length} conversations`)
    if (Option.isNone(preferences)) return
    const pairs = loaded.preferences.filter(({ chosen, prompt, rejected }) =>
      isKept([...prompt, ...chosen, ...rejected])
    )
    yield* Traces.writePreferences(preferences.value, pairs)
    yield* Console.log(`written: ${preferences.value}, ${pairs.length} pairs`)
  })
).pipe(
  Command.withExamples([
    { command: "effect-rl import logs train.jsonl --held-out test.jsonl", description: "The logs of a folder" },
    {
      command: "effect-rl import ~/.claude/projects train.jsonl --skip-invalid",
      description: "Sessions of Claude Code"
    }
  ])
)
