/** A run written down in a directory: `config.json`, `metrics.jsonl`, `checkpoints.jsonl`, `events.jsonl`. */
import { RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as AtomicFile from "../file/AtomicFile.ts"
import * as FileFailure from "../file/FileFailure.ts"
import * as RecordFile from "./RecordFile.ts"
import * as RunFormat from "./RunFormat.ts"
import * as RunLock from "./RunLock.ts"

const configFile = "config.json"

const failure = (run: string) => (error: PlatformError) =>
  Effect.fail(new RunStore.RunError({ run, detail: FileFailure.describe(run, error) }))

const seriesFile = Effect.fnUntraced(function*(run: string, series: RunStore.Series) {
  return (yield* Path.Path).join(run, `${series}.jsonl`)
})

const readManifest = Effect.fnUntraced(function*(run: string) {
  const fs = yield* FileSystem.FileSystem
  const file = (yield* Path.Path).join(run, configFile)
  if (!(yield* fs.exists(file))) return Option.none<RunFormat.Manifest>()
  return Option.some(yield* RunFormat.decode(run, file, yield* fs.readFileString(file)))
})

const writeManifest = Effect.fnUntraced(function*(run: string, manifest: RunFormat.Manifest) {
  const file = (yield* Path.Path).join(run, configFile)
  yield* AtomicFile.write(file, Stream.make(new TextEncoder().encode(RunFormat.encode(manifest))))
})

const readSeries = Effect.fnUntraced(function*(run: string, series: RunStore.Series) {
  return yield* RecordFile.read(run, yield* seriesFile(run, series))
})

const appendersOf = Effect.fnUntraced(function*(run: string) {
  return {
    metrics: yield* RecordFile.appender(run, yield* seriesFile(run, "metrics"), false),
    checkpoints: yield* RecordFile.appender(run, yield* seriesFile(run, "checkpoints"), true),
    events: yield* RecordFile.appender(run, yield* seriesFile(run, "events"), false)
  }
})

/** Opening writes the next segment number, so a full disk shows before the run has begun. */
const open = Effect.fnUntraced(function*(run: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(run, { recursive: true })
  yield* RunLock.hold(run)
  const previous = yield* readManifest(run)
  const manifest = Option.match(previous, {
    onNone: () => ({ format: RunFormat.current, segment: 1 }),
    onSome: (previous) => ({ ...previous, segment: previous.segment + 1 })
  })
  yield* writeManifest(run, manifest)
  return manifest
}, (effect, run) => Effect.catchTag(effect, "PlatformError", failure(run)))

const make = Effect.fnUntraced(function*(run: string) {
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const opened = yield* open(run)
  const manifest = yield* Ref.make<RunFormat.Manifest>(opened)
  const append = yield* appendersOf(run)
  const { segment } = opened
  return RunStore.RunStore.of({
    name: run,
    config: Effect.map(Ref.get(manifest), ({ config }) => Option.fromUndefinedOr(config)),
    writeConfig: Effect.fn("RunDirectory.writeConfig")(
      function*(config) {
        const written = { ...(yield* Ref.get(manifest)), config }
        yield* writeManifest(run, written)
        yield* Ref.set(manifest, written)
      },
      Effect.catchTag("PlatformError", failure(run)),
      Effect.provideContext(context)
    ),
    append: Effect.fn("RunDirectory.append")((series, record) =>
      append[series](series === "checkpoints" ? record : { ...record, segment })
    ),
    read: Effect.fn("RunDirectory.read")((series) => Effect.provideContext(readSeries(run, series), context))
  })
})

/**
 * The run in a directory, made if it is not there, with this process as its only writer until the scope closes.
 *
 * Metrics and events carry the `segment` they were written in: 1 in the first opening of the run, one more in each
 * later one. A torn last line of a crash is cut; a broken line elsewhere fails where it is read.
 */
export const layer = (
  run: string
): Layer.Layer<RunStore.RunStore, RunStore.RunError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(RunStore.RunStore, make(run))

/** What a run holds at this moment, also while another process writes it. */
export const read = Effect.fn("RunDirectory.read")(function*(run: string) {
  const manifest = yield* readManifest(run)
  if (Option.isNone(manifest)) {
    return yield* new RunStore.RunError({ run, detail: `there is no ${configFile}: this is not a run directory` })
  }
  return {
    ...manifest.value,
    metrics: yield* readSeries(run, "metrics"),
    checkpoints: yield* readSeries(run, "checkpoints"),
    events: yield* readSeries(run, "events")
  }
}, (effect, run) => Effect.catchTag(effect, "PlatformError", failure(run)))
