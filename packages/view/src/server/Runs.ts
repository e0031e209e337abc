/** The run directories that the page may show: the given folders and their subfolders. */
import type { RunStore } from "@effect-rl/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as Entry from "../story/Entry.ts"
import * as RunCache from "./RunCache.ts"

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

/** Maximum depth of subfolders: sweeps and pipelines are folders of runs inside a folder of runs. */
const deepest = 2

const runsIn: (
  folder: string,
  depth: number
) => Effect.Effect<ReadonlyArray<string>, never, FileSystem.FileSystem | Path.Path> = Effect.fnUntraced(
  function*(folder, depth) {
    const own = yield* isRun(folder)
    if (depth === 0 || (own && depth < deepest)) return own ? [folder] : []
    const inner = yield* Effect.forEach(yield* children(folder), (child) => runsIn(child, depth - 1))
    return [...(own ? [folder] : []), ...inner.flat()]
  }
)

/**
 * The run directories among the folders and two levels of subfolders, without duplicates. A run directory below the given folders is not
 * searched for further runs.
 */
export const find = Effect.fn("Runs.find")(function*(folders: ReadonlyArray<string>) {
  const found = yield* Effect.forEach(folders, (folder) => runsIn(folder, deepest))
  return [...new Set(found.flat())]
})

type Line = (cache: RunCache.RunCache["Service"], run: string) => Effect.Effect<Entry.RunLine, RunStore.RunError>

const cached: Line = (cache, run) => Effect.flatMap(Clock.currentTimeMillis, (now) => cache.line(run, now))

const audited: Line = (cache, run) => Effect.flatMap(Clock.currentTimeMillis, (now) => cache.audited(run, now))

/** One line per run, newest first. Unreadable runs come last, with their errors. */
const linesOf = Effect.fnUntraced(function*(folders: ReadonlyArray<string>, make: Line) {
  const cache = yield* RunCache.RunCache
  const lines = yield* Effect.forEach(yield* find(folders), (run) =>
    Effect.catchTag(
      make(cache, run),
      "RunError",
      ({ detail }): Effect.Effect<Entry.RunLine | Entry.BrokenRun> => Effect.succeed({ run, error: detail })
    ))
  const at = (line: Entry.RunLine | Entry.BrokenRun) => "at" in line ? line.at : 0
  return lines.toSorted((left, right) => at(right) - at(left))
})

/** One line per run, newest first, without waiting for audits. Unreadable runs come last, with their errors. */
export const lines = Effect.fn("Runs.lines")((folders: ReadonlyArray<string>) => linesOf(folders, cached))

/**
 * Like `lines`, but audits each run first, unless it is very long, and caches nothing.
 *
 * @example
 * const states = Effect.map(Runs.list(["runs"]), (runs) => runs.map((run) => "state" in run ? run.state : run.error))
 */
export const list = (folders: ReadonlyArray<string>) =>
  Effect.provide(linesOf(folders, audited), RunCache.RunCache.layer)
