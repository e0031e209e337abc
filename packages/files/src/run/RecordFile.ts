/** The file of a run's records: one record per line, in the order of their sequence numbers, each with a sum (see `Checksum`). */
import { RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Checksum from "./Checksum.ts"
import * as LineFile from "./LineFile.ts"
import * as RunFolder from "./RunFolder.ts"

const decodeJson = Schema.decodeUnknownResult(RunRecord.codec)

/** Parsing apart from decoding takes a fifth less time than `Schema.fromJsonString`, and there may be 100,000 lines. */
const parse = (line: string) =>
  Result.try({ try: (): unknown => JSON.parse(line), catch: () => ({ message: "not JSON" }) })

const hasTag = Schema.is(Schema.Struct({ _tag: Schema.String }))

const kinds = Object.keys(RunRecord.guards)

/** Another kind is one of a later version, or of no version: what each kind would need says nothing then. */
const describe = (value: unknown, message: string) =>
  hasTag(value) && !kinds.includes(value._tag)
    ? `its _tag is ${JSON.stringify(value._tag.slice(0, 40))}, expected one of ${kinds.join(", ")}`
    : message

const decode = (line: string) =>
  Result.flatMap(
    parse(line),
    (value) => Result.mapError(decodeJson(value), ({ message }) => ({ message: describe(value, message) }))
  )

const shownCharacters = 200

/** A place in the file, which advances with reading. */
export interface Cursor {
  readonly run: string
  readonly file: string
  offset: number
  /** Lines before `offset`, and so the sequence number of the next record. */
  index: number
  /** The sum of those lines. */
  sum: string
  /** Whether lines have sums; undefined until the first line decides it. */
  isSummed: boolean | undefined
}

/** The start of a file. Its lines have sums if the run's format says so; otherwise the first line decides. */
export const begin = (run: string, file: string, isSummed: boolean): Cursor => ({
  run,
  file,
  offset: 0,
  index: 0,
  sum: Checksum.start,
  isSummed: isSummed ? true : undefined
})

/** The damage of a line's bytes. */
const damage = (line: string, before: string, isSummed: boolean) => {
  const found = Checksum.read(line)
  if (!isSummed) return found === undefined ? undefined : "has a checksum, but the lines before it have none"
  if (found === undefined) return "has no checksum: it was changed after it was written"
  const expected = Checksum.expected(line, before)
  return found === expected
    ? undefined
    : `was changed, moved or repeated after it was written: its checksum is ${found}, expected ${expected}`
}

const advice = (index: number) =>
  `restore the file from a copy, ${index === 0 ? "" : `keep its first ${index} lines alone to go on from there, `}` +
  "or choose another run directory"

/** The record of a line, or what is wrong with the line. */
const recordOf = (
  line: string,
  { index, sum }: Cursor,
  isSummed: boolean
): Result.Result<RunRecord.RunRecord, string> => {
  const damaged = damage(line, sum, isSummed)
  if (damaged !== undefined) return Result.fail(damaged)
  const decoded = decode(line)
  if (Result.isFailure(decoded)) return Result.fail(`is not a record of a run (${decoded.failure.message})`)
  const { sequence } = decoded.success
  return sequence === index
    ? Result.succeed(decoded.success)
    : Result.fail(`has sequence ${sequence}, expected ${index} (a line was added or removed)`)
}

/** Moves the cursor past a line. */
const pass = (cursor: Cursor, line: string) => {
  cursor.index++
  cursor.sum = Checksum.read(line) ?? cursor.sum
}

/** The records of the next lines, of those after the sequence number `after`; earlier lines are not looked at. */
const decodeLines = Effect.fnUntraced(function*(cursor: Cursor, lines: ReadonlyArray<string>, after: number) {
  const records: Array<RunRecord.RunRecord> = []
  for (const line of lines) {
    const isSummed = cursor.isSummed ??= Checksum.read(line) !== undefined
    if (cursor.index > after) {
      const record = recordOf(line, cursor, isSummed)
      if (Result.isFailure(record)) {
        const { file, index, run } = cursor
        const where = `${file}, line ${index + 1} ${record.failure}: ${line.slice(0, shownCharacters)}`
        return yield* new RunStore.RunError({ run, detail: `${where} — ${advice(index)}` })
      }
      records.push(record.success)
    }
    pass(cursor, line)
  }
  return records
})

/** Fails where the file is shorter than the part that was read already. */
const checkLength = Effect.fnUntraced(function*(run: string, file: string, length: number) {
  const fs = yield* FileSystem.FileSystem
  if (LineFile.sizeOf(yield* fs.stat(file)) >= length) return
  const detail = `${file} was cut or replaced while it was read: open the run directory again`
  return yield* new RunStore.RunError({ run, detail })
})

/** The records from the cursor to the current end of the file; a torn last line is left for later. */
const rest = (cursor: Cursor, handle: FileSystem.File, after: number) => {
  const { file, run } = cursor
  const batch = Effect.gen(function*() {
    const { end, lines } = yield* LineFile.readLines(handle, cursor.offset)
    const records = yield* decodeLines(cursor, lines, after)
    cursor.offset = end
    if (lines.length === 0) yield* checkLength(run, file, end)
    return [records, lines.length === 0 ? Option.none() : Option.some(undefined)] as const
  }).pipe(RunFolder.naming(run, file))
  return Stream.paginate(undefined, () => batch)
}

/**
 * Records with a sequence number above `after`, from a cursor at the start of the file: those written so far at the first of the
 * `moments`, then at every further moment those written since. Ends with the moments.
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

/** The records written so far; the cursor is then at their end. */
export const read = (cursor: Cursor) => follow(cursor, -1, Stream.succeed(undefined))
