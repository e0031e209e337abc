/** The file of a run's records: one record per line, in sequence-number order, each with a checksum (see `Checksum`). */
import { type RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as LineFile from "./LineFile.ts"
import * as RecordLines from "./RecordLines.ts"
import * as RunFolder from "./RunFolder.ts"

/** A position in the file, which advances while reading. */
export interface Cursor extends RecordLines.Place {
  /** The number of bytes before the position. */
  offset: number
}

/** The start of a file. If `isSummed`, its lines must have checksums; otherwise the first line decides whether they do. */
export const begin = (run: string, file: string, isSummed: boolean): Cursor => ({
  ...RecordLines.start(run, file),
  offset: 0,
  isSummed: isSummed ? true : undefined
})

/** Fails if the file is shorter than the part that has been read. */
const checkLength = Effect.fnUntraced(function*(run: string, file: string, length: number) {
  const fs = yield* FileSystem.FileSystem
  if (LineFile.sizeOf(yield* fs.stat(file)) >= length) return
  const detail = `${file} was cut or replaced while it was read: open the run directory again`
  return yield* new RunStore.RunError({ run, detail })
})

/** The records from the cursor to the current end of the file. An incomplete last line is left for the next read. */
const rest = (cursor: Cursor, handle: FileSystem.File, after: number) => {
  const { file, run } = cursor
  const batch = Effect.gen(function*() {
    const { end, lines } = yield* LineFile.readLines(handle, cursor.offset)
    const records = yield* RecordLines.decodeLines(cursor, lines, after)
    cursor.offset = end
    if (lines.length === 0) yield* checkLength(run, file, end)
    return [records, lines.length === 0 ? Option.none() : Option.some(undefined)] as const
  }).pipe(RunFolder.naming(run, file))
  return Stream.paginate(undefined, () => batch)
}

/**
 * Records with a sequence number above `after`. The cursor must be at the start of the file. The first element of `moments` triggers
 * reading all existing records, and each further element the records written since. The stream ends with `moments`.
 */
export const follow = (
  cursor: Cursor,
  after: number,
  moments: Stream.Stream<unknown>
): Stream.Stream<RunRecord.RunRecord, RunStore.RunError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const handle = yield* fs.open(cursor.file)
      return Stream.flatMap(moments, () => rest(cursor, handle, after))
    }).pipe(RunFolder.naming(cursor.run, cursor.file))
  )

/** The existing records. Afterwards the cursor is at their end. */
export const read = (cursor: Cursor) => follow(cursor, -1, Stream.succeed(undefined))
