/** Loads the tasks of an agent from a file or a folder, and splits them into training and held-out tasks. */
import { Seed } from "@effect-rl/core/environments"
import { RowError, Rows } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** Tasks to train on and tasks to evaluate on. */
export interface Split<out Task> {
  readonly train: ReadonlyArray<Task>
  readonly test: ReadonlyArray<Task>
}

/** A task of a file. */
export interface AgentTask {
  /** The text that the agent is asked, from the row's `task`, `question` or `prompt`. */
  readonly text: string
  /** The whole row, for the scorer. */
  readonly row: Schema.JsonObject
}

const Row = Schema.Record(Schema.String, Schema.Json)

/** Possible names of the field with a row's text. The first field that contains a text is used. */
const names = ["task", "question", "prompt"]

const found = (row: Schema.JsonObject) => names.map((name) => row[name]).find((value) => typeof value === "string")

/** The text of a row: its field `task`, `question` or `prompt`, whichever is the first with a text; empty if none is. */
export const textOf = (row: Schema.JsonObject): string => found(row) ?? ""

const read = Effect.fnUntraced(function*(file: string) {
  const rows = yield* Stream.runCollect(Rows.fromFile(file, Row))
  const tasks = yield* Effect.forEach(rows, (row, index) => {
    const text = found(row)
    const detail = `has ${
      Object.keys(row).length === 0 ? "no fields" : `the fields ${Object.keys(row).join(", ")}`
    }, expected a text as ${names.join(" or ")}`
    return text === undefined
      ? Effect.fail(new RowError.RowError({ file, row: index + 1, detail }))
      : Effect.succeed<AgentTask>({ text, row })
  })
  return tasks.length > 0 ? tasks : yield* new RowError.RowError({ file, detail: "has no row, expected at least one" })
})

const extensions = ["jsonl", "parquet", "csv"]

const inFolder = Effect.fnUntraced(function*(folder: string, split: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  for (const extension of extensions) {
    const file = join(folder, `${split}.${extension}`)
    if (yield* Effect.orElseSucceed(fs.exists(file), () => false)) return yield* read(file)
  }
  return yield* new RowError.RowError({
    file: folder,
    detail: `has no ${split}.jsonl, ${split}.parquet or ${split}.csv`
  })
})

/** The most tasks that are held out by default, if a fifth of the file's tasks is more. */
const mostHeldOut = 128

/**
 * Holds out the tasks of the `count` texts with the lowest hashes, whatever the order of the tasks. Tasks with the same text stay together.
 *
 * @example
 * const { test, train } = AgentTasks.holdOut([{ text: "2 + 2", row: {} }, { text: "2 + 3", row: {} }], 1)
 */
export const holdOut = (tasks: ReadonlyArray<AgentTask>, count: number): Split<AgentTask> => {
  const texts = [...new Set(tasks.map(({ text }) => text))]
  const hashes = texts.map((text) => [text, Seed.derive(0, text)] as const)
  const held = new Set(hashes.toSorted((a, b) => a[1] - b[1]).slice(0, count).map(([text]) => text))
  return {
    train: tasks.filter(({ text }) => !held.has(text)),
    test: tasks.filter(({ text }) => held.has(text))
  }
}

/**
 * Loads tasks from a file (`.jsonl`, `.parquet` or `.csv`) or from a folder with such files named `train` and `test`. `heldOut` texts of a
 * file are held out: by default a fifth of its number of tasks, at most 128. For a folder, `heldOut` is ignored. Fails with a `RowError` if
 * a row has no text, a file has no row, a file of the folder is missing, or no task is left to train on.
 *
 * @example
 * const split = AgentTasks.load("tasks.jsonl")
 */
export const load = Effect.fn("AgentTasks.load")(function*(place: string, heldOut?: number) {
  const fs = yield* FileSystem.FileSystem
  const isFolder = yield* fs.stat(place).pipe(
    Effect.map(({ type }) => type === "Directory"),
    Effect.orElseSucceed(() => false)
  )
  if (isFolder) {
    const split: Split<AgentTask> = { train: yield* inFolder(place, "train"), test: yield* inFolder(place, "test") }
    return split
  }
  const tasks = yield* read(place)
  const held = heldOut ?? Math.min(Math.floor(tasks.length / 5), mostHeldOut)
  const split = holdOut(tasks, held)
  if (split.train.length > 0) return split
  return yield* new RowError.RowError({
    file: place,
    detail: `has ${tasks.length} tasks, expected more than the ${held} that are held out`
  })
})
