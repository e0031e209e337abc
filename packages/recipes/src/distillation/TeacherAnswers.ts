/** Queries that a teacher answers with a prompt, so a student can learn to answer them without it. */
import { InvalidOption, Message, MessagePolicy } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { AtomicFile, FileFailure, Jsonl, RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Format from "../format/Format.ts"

/** A query with a known answer. */
export interface Known {
  readonly query: string
  readonly answer: string
  readonly isRight: (text: string) => boolean
}

export interface Queries {
  /** The teacher's prompt, in which `{text}` stands for the query. */
  readonly prompt: string
  readonly train: ReadonlyArray<string>
  readonly test: ReadonlyArray<Known>
}

/** Name of the generated queries, given instead of a folder. */
export const listsName = "lists"

const place = "{text}"

const known = (words: ReadonlyArray<string>): Known => ({
  query: words.join(", "),
  answer: Format.json.write(words),
  isRight: Format.isRight({ ...Format.json, words })
})

/** Lists of words. The teacher's prompt asks for JSON; the student gets only the words. */
const lists: Queries = {
  prompt: `Write ${place} as ${Format.json.name}.`,
  train: Format.triples.filter((words) => !Format.isHeldOut(words)).map((words) => known(words).query),
  test: Format.triples.filter(Format.isHeldOut).map(known)
}

const textOf = (file: string) =>
  Effect.mapError(
    FileSystem.FileSystem.use((fs) => fs.readFileString(file)),
    (error) => new RowError.RowError({ file, detail: FileFailure.describe("it", error) })
  )

/**
 * The made-up queries, or those in the lines of a folder's `queries.txt`, with the prompt in its `prompt.txt`.
 *
 * @example
 * const queries = TeacherAnswers.load("data/languages")
 */
export const load = Effect.fn("TeacherAnswers.load")(function*(from: string) {
  if (from === listsName) return lists
  const path = yield* Path.Path
  const [file, lines] = [path.join(from, "prompt.txt"), path.join(from, "queries.txt")]
  const prompt = yield* textOf(file)
  if (!prompt.includes(place)) {
    return yield* new RowError.RowError({
      file,
      detail: `does not contain ${place}, expected it in place of the query`
    })
  }
  const train = (yield* textOf(lines)).split("\n").map((line) => line.trim()).filter((line) => line !== "")
  if (train.length === 0) {
    return yield* new RowError.RowError({ file: lines, detail: "has no lines, expected a query in each" })
  }
  const queries: Queries = { prompt, train, test: [] }
  return queries
})

export interface Options extends Omit<MessagePolicy.SamplingOptions, "seed" | "stop"> {
  /** The first group of a match in the teacher's response is the answer to learn. A query without a match is left out. */
  readonly pattern: RegExp
}

/** A conversation, stored as one line of a file. */
const Row = Schema.Struct({
  messages: Schema.NonEmptyArray(Schema.Struct({ role: Schema.String, content: Schema.String }))
})
type Row = typeof Row.Type

const atOnce = 64

/** Each query, without the prompt, followed by the teacher's answer with the prompt. */
export const sample = Effect.fn("TeacherAnswers.sample")(function*(
  teacher: SamplingClient.SamplingClient,
  { prompt, train }: Pick<Queries, "prompt" | "train">,
  { pattern, ...sampling }: Options
) {
  const { respond } = MessagePolicy.fromSamplingClient(teacher, { ...sampling, seed: 0 })
  const said = yield* Effect.forEach(
    train,
    (query, index) => respond({ messages: [Message.user(prompt.replaceAll(place, () => query))], key: String(index) }),
    { concurrency: atOnce }
  )
  const rows = train.flatMap((query, index): ReadonlyArray<Row> => {
    const message = said[index]
    const answer = message === undefined ? undefined : pattern.exec(Message.text(message))?.[1]
    return answer === undefined
      ? []
      : [{ messages: [{ role: "user", content: query }, { role: "assistant", content: answer }] }]
  })
  if (rows.length > 0) return rows
  const expected = "a pattern that matches some of the teacher's answers"
  return yield* new InvalidOption.InvalidOption({ field: "pattern", found: pattern.source, expected })
})

const encode = Schema.encodeEffect(Schema.fromJsonString(Row))

/** The conversations in a file, one per line. If the file does not exist, the conversations of `rows`, which are then written to it. */
export const kept = Effect.fn("TeacherAnswers.kept")(function*<E, R>(
  file: string,
  rows: Effect.Effect<ReadonlyArray<Row>, E, R>
) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) {
    const lines = Stream.fromIterable(yield* rows).pipe(
      Stream.mapEffect((row) => Effect.orDie(encode(row))),
      Stream.map((line) => `${line}\n`),
      Stream.encodeText
    )
    yield* AtomicFile.write(file, lines)
  }
  return yield* Stream.runCollect(Jsonl.rows(file, Row))
})
