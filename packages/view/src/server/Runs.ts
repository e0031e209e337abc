/** The run directories that the page may show: the given folders, and the folders in them. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import * as Story from "../story/Story.ts"

const isRun = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(fs.exists(path.join(folder, "records.jsonl")), () => false)
})

const children = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])
  return names.toSorted().map((name) => path.join(folder, name))
})

/** The run directories among the folders and their direct children, each once. */
export const find = Effect.fn("Runs.find")(function*(folders: ReadonlyArray<string>) {
  const found = new Set<string>()
  for (const folder of folders) {
    if (yield* isRun(folder)) found.add(folder)
    for (const child of yield* children(folder)) if (yield* isRun(child)) found.add(child)
  }
  return [...found]
})

/** The record as the page receives it. */
export const entry = (record: RunRecord.RunRecord): Entry.Entry => {
  if (record._tag !== "Credited") return record
  const { datums: _, ...credited } = record
  return credited
}

/** What the records of a run tell. */
export const story = (reader: RunStore.RunReader): Effect.Effect<Story.Story, RunStore.RunError> =>
  Stream.runFold(reader.read, Story.empty, (story, record) => Story.add(story, entry(record)))

/** One line about a run; a run that cannot be read says why. */
export const line = Effect.fn("Runs.line")(
  function*(run: string) {
    const told = yield* story(yield* RunDirectory.open(run))
    const now = yield* Clock.currentTimeMillis
    const line: Entry.RunLine = {
      run,
      program: told.opened?.program ?? "",
      model: Story.model(told),
      state: Story.state(told, now),
      done: Story.done(told),
      iterations: told.opened?.iterations ?? null,
      reward: Story.lastUpdated(told)?.reward?.mean ?? null,
      tokens: Story.tokens(told),
      at: told.last?.at ?? 0
    }
    return line
  },
  (effect, run) =>
    Effect.catchTag(
      effect,
      "RunError",
      ({ detail }): Effect.Effect<Entry.RunLine | Entry.BrokenRun> => Effect.succeed({ run, error: detail })
    )
)

/** One line about each run, newest first; runs that cannot be read come last. */
export const list = Effect.fn("Runs.list")(function*(folders: ReadonlyArray<string>) {
  const lines = yield* Effect.forEach(yield* find(folders), line)
  const at = (line: Entry.RunLine | Entry.BrokenRun) => "at" in line ? line.at : 0
  return lines.toSorted((left, right) => at(right) - at(left))
})
