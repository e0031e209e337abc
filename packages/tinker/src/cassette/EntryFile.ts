/** Reads a recording. The error for an unreadable line includes its number. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"
import { CassetteError } from "./CassetteError.ts"
import * as Entry from "./Entry.ts"

const cut = "cut off, as by a crash while recording; delete the line to replay what comes before it, or record again"

const unreadable = (file: string) => ({ message, reason }: PlatformError) =>
  new CassetteError({
    file,
    detail: reason._tag === "NotFound" ? "there is no such cassette; record it first" : message
  })

const repeated = (entries: ReadonlyArray<Entry.Entry>) => {
  const lines = new Map<string, number>()
  for (const { key, line, ordinal } of entries) {
    const before = lines.get(Entry.id(key, ordinal))
    if (before !== undefined) return { line, detail: `the same call as in line ${before}; delete one of them` }
    lines.set(Entry.id(key, ordinal), line)
  }
  return undefined
}

/** All entries in file order. Fails if the file is missing, an entry is unreadable or repeated, or the last line is cut off. */
export const read = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(fs.readFileString(file), unreadable(file))
  const [first = "", ...others] = text.split("\n")
  const rest = others.pop()
  const at = (line: number) => Effect.mapError((detail: string) => new CassetteError({ file, line, detail }))
  yield* at(1)(Entry.checkHeader(first))
  const entries = yield* Effect.forEach(others, (text, index) => at(index + 2)(Entry.decode(text, index + 2)))
  if (rest !== "") return yield* new CassetteError({ file, line: others.length + 2, detail: cut })
  const wrong = repeated(entries)
  return wrong === undefined ? entries : yield* new CassetteError({ file, ...wrong })
})
