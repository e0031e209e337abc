/** The file of a run's records: one record per line, in the order of their sequence numbers. */
import { RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
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

/** The records of the lines; `index` is that of the first line, and the sequence number of its record. */
const decodeLines = Effect.fnUntraced(
  function*(run: string, file: string, lines: ReadonlyArray<string>, index: number) {
    const records: Array<RunRecord.RunRecord> = []
    const broken = (line: string, problem: string) => {
      const where = `${file}, line ${index + records.length + 1}`
      const detail = `${where} ${problem}: ${line.slice(0, shownCharacters)} — restore the file from a copy, ` +
        "or choose another run directory"
      return new RunStore.RunError({ run, detail })
    }
    for (const line of lines) {
      const decoded = decode(line)
      if (Result.isFailure(decoded)) return yield* broken(line, `is not a record of a run (${decoded.failure.message})`)
      const record = decoded.success
      const expected = index + records.length
      if (record.sequence !== expected) {
        return yield* broken(
          line,
          `has sequence ${record.sequence}, expected ${expected} (a line was added or removed)`
        )
      }
      records.push(record)
    }
    return records
  }
)

/** Fails where the file is shorter than the part that was read already. */
const checkLength = Effect.fnUntraced(function*(run: string, file: string, length: number) {
  const fs = yield* FileSystem.FileSystem
  if (LineFile.sizeOf(yield* fs.stat(file)) >= length) return
  const detail = `${file} was cut or replaced while it was read: open the run directory again`
  return yield* new RunStore.RunError({ run, detail })
})

/** A place in the file, which advances with reading. */
interface Cursor {
  offset: number
  /** Lines before `offset`. */
  index: number
}

/** The records from the cursor to the current end of the file; a torn last line is left for later. */
const rest = (run: string, file: string, handle: FileSystem.File, cursor: Cursor, after: number) => {
  const batch = Effect.gen(function*() {
    const { end, lines } = yield* LineFile.readLines(handle, cursor.offset)
    const skipped = Math.min(lines.length, Math.max(0, after + 1 - cursor.index))
    const records = yield* decodeLines(run, file, lines.slice(skipped), cursor.index + skipped)
    cursor.offset = end
    cursor.index += lines.length
    if (lines.length === 0) yield* checkLength(run, file, end)
    return [records, lines.length === 0 ? Option.none() : Option.some(undefined)] as const
  }).pipe(RunFolder.naming(run, file))
  return Stream.paginate(undefined, () => batch)
}

/**
 * Records with a sequence number above `after`: those written so far at the first of the `moments`, then at every further
 * moment those written since. Ends with the moments.
 */
export const follow = (
  run: string,
  file: string,
  after: number,
  moments: Stream.Stream<unknown>
): Stream.Stream<RunRecord.RunRecord, RunStore.RunError, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const handle = yield* fs.open(file)
      const cursor: Cursor = { offset: 0, index: 0 }
      return Stream.flatMap(moments, () => rest(run, file, handle, cursor, after))
    }).pipe(RunFolder.naming(run, file))
  )

/** The records written so far. */
export const read = (run: string, file: string) => follow(run, file, -1, Stream.succeed(undefined))
