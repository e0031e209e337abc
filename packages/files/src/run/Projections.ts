/** Files derived from a run's records. They are rewritten if they differ and are never read back. */
import type { RunRecord } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Stream from "effect/Stream"
import * as AtomicFile from "../file/AtomicFile.ts"
import * as FileFailure from "../file/FileFailure.ts"
import * as Projection from "./Projection.ts"
import type { RunFolder } from "./RunFolder.ts"

interface Line {
  readonly sequence: number
  readonly text: string
}

/** The expected content of a file of lines. */
const lineFile = (file: string, lineOf: (record: RunRecord.RunRecord) => string | undefined) => {
  const lines: Array<Line> = []
  return {
    file,
    content: () => lines.map(({ text }) => text).join(""),
    forgetAfter: (sequence: number) => {
      while ((lines.at(-1)?.sequence ?? -1) > sequence) lines.pop()
    },
    /** Adds a record. Returns the text to append, which is empty if the record adds no line. */
    include: (record: RunRecord.RunRecord) => {
      const line = lineOf(record)
      if (line === undefined) return ""
      const text = `${line}\n`
      lines.push({ sequence: record.sequence, text })
      return text
    }
  }
}

const encode = (text: string) => new TextEncoder().encode(text)

/** Replaces a file if its content differs. */
const makeEqual = Effect.fnUntraced(function*(file: string, content: string) {
  const fs = yield* FileSystem.FileSystem
  const found = (yield* fs.exists(file)) ? yield* fs.readFileString(file) : ""
  if (found !== content) yield* AtomicFile.write(file, Stream.make(encode(content)))
})

const append = Effect.fnUntraced(function*(file: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  if (text !== "") yield* fs.writeFile(file, encode(text), { flag: "a" })
})

/**
 * Maintains a run's derived files. A failed write only logs a warning, since the records contain everything; the file is repaired with the
 * next record or when the run is next opened.
 */
export const make = Effect.fnUntraced(function*(folder: RunFolder) {
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const files = [lineFile(folder.metrics, Projection.metrics), lineFile(folder.checkpoints, Projection.checkpoint)]
  let config = ""
  let isBehind = false

  const warned = (file: string) =>
    Effect.catch((error: PlatformError) => {
      isBehind = true
      return Effect.logWarning(`${FileFailure.describe(file, error)}; it is rebuilt from the records later`)
    })

  /** Adds a record. Returns the text to append to each file. */
  const include = (record: RunRecord.RunRecord) => {
    if (record._tag === "Opened") {
      config = Projection.config(record)
      for (const file of files) file.forgetAfter(record.continuesAfter)
    }
    return files.map(({ file, include }) => [file, include(record)] as const)
  }

  /** Makes every file match the records. */
  const settle = Effect.suspend(() => {
    isBehind = false
    const contents = [[folder.config, config] as const, ...files.map(({ content, file }) => [file, content()] as const)]
    return Effect.forEach(contents, ([file, content]) => warned(file)(makeEqual(file, content)), { discard: true })
  }).pipe(Effect.provideContext(context))

  /** Appends a new record's lines. */
  const add = (record: RunRecord.RunRecord) =>
    Effect.suspend(() => {
      const added = include(record)
      if (isBehind || record._tag === "Opened") return settle
      return Effect.forEach(added, ([file, text]) => warned(file)(append(file, text)), { discard: true })
    }).pipe(Effect.provideContext(context))

  return { include, settle, add }
})
