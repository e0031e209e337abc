/** The paths in a run directory, and checks that this release can read or resume the run. */
import { RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as FileFailure from "../file/FileFailure.ts"
import * as LineFile from "./LineFile.ts"

/**
 * The version of the run directory format that this release writes. In version 4, groups have separate fields for origin, task, scores and
 * messages.
 */
export const format = 4

/** The first version in which records and payloads have checksums. */
const firstSummed = 3

/** The oldest version that this release reads. Only runs of the current version can be resumed. */
const oldest = 2

/** Converts a file system failure to a `RunError` that names the file, or says "it" for the directory itself. */
export const naming =
  (run: string, file = "it") => <A, R>(effect: Effect.Effect<A, PlatformError | RunStore.RunError, R>) =>
    Effect.mapError(
      effect,
      (error) =>
        error._tag === "RunError" ? error : new RunStore.RunError({ run, detail: FileFailure.describe(file, error) })
    )

/** The paths of a run directory and of its files. */
export interface RunFolder {
  readonly run: string
  readonly records: string
  readonly payloads: string
  readonly config: string
  readonly metrics: string
  readonly checkpoints: string
}

export const make = Effect.fnUntraced(function*(run: string) {
  const path = yield* Path.Path
  const folder: RunFolder = {
    run,
    records: path.join(run, "records.jsonl"),
    payloads: path.join(run, "payloads.jsonl"),
    config: path.join(run, "config.json"),
    metrics: path.join(run, "metrics.jsonl"),
    checkpoints: path.join(run, "checkpoints.jsonl")
  }
  return folder
})

const Versioned = Schema.fromJsonString(Schema.Struct({ format: Schema.Int }))

const decodeVersion = Schema.decodeUnknownOption(Versioned)

const bytesIn = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* fs.exists(file)) ? LineFile.sizeOf(yield* fs.stat(file)) : 0
})

/**
 * The version in `config.json`. None if the file is missing or broken, which is not an error, since it can be rebuilt
 * from the records.
 */
const formatOf = Effect.fnUntraced(function*({ config }: RunFolder) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(config))) return Option.none<number>()
  return Option.map(decodeVersion(yield* fs.readFileString(config)), ({ format }) => format)
})

const wrongFormat = ({ config }: RunFolder, found: number): string | undefined => {
  if (found >= oldest && found <= format) return undefined
  const difference = `${config} has format ${found}, this version reads format ${format}`
  return found > format
    ? `${difference}: update effect-rl`
    : `${difference}: the run was written by an earlier effect-rl, whose format is no longer read. Choose another run directory`
}

/** What `check` found in a run directory. */
export interface Found {
  readonly hasRecords: boolean
  /** Whether `config.json` implies that records have checksums. If not, the records decide. */
  readonly isSummed: boolean
  /** The version in `config.json` if it is older than the current one; otherwise undefined. */
  readonly earlier: number | undefined
}

/** Fails if the directory has an unreadable format or has lost its records. */
export const check = Effect.fnUntraced(function*(folder: RunFolder) {
  const { run } = folder
  const named = yield* formatOf(folder)
  const problem = Option.isSome(named) ? wrongFormat(folder, named.value) : undefined
  if (problem !== undefined) return yield* new RunStore.RunError({ run, detail: problem })
  const found: Found = {
    hasRecords: (yield* bytesIn(folder.records)) > 0,
    isSummed: Option.exists(named, (named) => named >= firstSummed),
    earlier: Option.getOrUndefined(Option.filter(named, (named) => named < format))
  }
  if (found.hasRecords) return found
  for (const file of [folder.config, folder.metrics, folder.checkpoints]) {
    if ((yield* bytesIn(file)) === 0) continue
    const detail = `${folder.records} is missing or empty, but ${file} is there: restore the records from a copy, ` +
      "or choose another run directory"
    return yield* new RunStore.RunError({ run, detail })
  }
  return found
})

/**
 * Fails if a run cannot be resumed. Records without checksums might have changed on disk, and earlier versions store groups without
 * everything that a resumed run compares. `isSummed` is whether the records have checksums; undefined if there are no records.
 */
export const resumable = (
  { run }: RunFolder,
  { earlier }: Found,
  isSummed: boolean | undefined
): Effect.Effect<void, RunStore.RunError> => {
  const found = isSummed === false ? oldest : isSummed === true && earlier === oldest ? undefined : earlier
  return found === undefined ? Effect.void : Effect.fail(
    new RunStore.RunError({
      run,
      detail:
        `it has format ${found}${found < firstSummed ? ", without checksums" : ""}: it was written by an earlier ` +
        `effect-rl and can be viewed, compared and exported, but not resumed. Choose another run directory`
    })
  )
}
