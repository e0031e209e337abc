/**
 * Encodes and decodes the lines in which a run's records are stored, in a file or a database. There is one record per line, in
 * sequence-number order, each with a checksum (see `Checksum`).
 *
 * @example
 * const sum = RecordLines.payloadSum(`{"trajectories":[]}`)
 */
import { RunRecord, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Checksum from "./Checksum.ts"
import * as LineFile from "./LineFile.ts"
import * as RunFolder from "./RunFolder.ts"

/** The version of the line format that this release writes. */
export const format = RunFolder.format

const decodeJson = Schema.decodeUnknownResult(RunRecord.codec)

/**
 * Parses a line's JSON. Parsing and decoding separately is a fifth faster than `Schema.fromJsonString`, which matters
 * for 100,000 lines.
 */
const parse = (line: string) =>
  Result.try({ try: (): unknown => JSON.parse(line), catch: () => ({ message: "not JSON" }) })

const hasTag = Schema.is(Schema.Struct({ _tag: Schema.String }))

const kinds = Object.keys(RunRecord.guards)

/** Describes an invalid record. For an unknown kind, which may come from a later version, names the kind instead of missing fields. */
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

/** A position between lines, which advances while reading. */
export interface Place {
  readonly run: string
  /** The source of the lines, for messages. */
  readonly file: string
  /** The number of preceding lines, which is the next record's sequence number. */
  index: number
  /** The checksum of the preceding lines. */
  sum: string
  /** Whether lines have checksums; undefined until the first line decides. */
  isSummed: boolean | undefined
}

/** The position before the first line. */
export const start = (run: string, file: string): Place => ({
  run,
  file,
  index: 0,
  sum: Checksum.start,
  isSummed: true
})

/** A record's line with its checksum, if the lines before it have the checksum `before`. */
export const seal = (record: RunRecord.RunRecord, before: string): Checksum.Sealed =>
  Checksum.seal(LineFile.stringify(record), before)

/** The checksum at the end of a line, or the start value if it has none. */
export const sumOf = (line: string): string => Checksum.read(line) ?? Checksum.start

/** A payload's checksum, which identifies its content. */
export const payloadSum = (payload: string): string => Checksum.of(payload)

/** Fails if a payload's text cannot be stored as one line. */
export const checkPayload = (run: string, payload: string): Effect.Effect<void, RunStore.RunError> =>
  payload.includes("\n")
    ? Effect.fail(new RunStore.RunError({ run, detail: "a payload has a line break, expected JSON on one line" }))
    : Effect.void

/** Describes how a line is damaged; undefined if it is intact. */
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
  `restore the file from a copy, ${index === 0 ? "" : `keep its first ${index} lines alone to continue from there, `}` +
  "or choose another run directory"

/** A line's record, or a description of what is wrong with the line. */
const recordOf = (
  line: string,
  { index, sum }: Place,
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

/** Moves the position past a line. */
const pass = (cursor: Place, line: string) => {
  cursor.index++
  cursor.sum = Checksum.read(line) ?? cursor.sum
}

/**
 * Decodes the next lines and advances the position. Skips lines whose sequence number is not above `after`, without checking them. Fails
 * with `RunError` at a line that is damaged or out of place.
 */
export const decodeLines = Effect.fnUntraced(function*(cursor: Place, lines: ReadonlyArray<string>, after: number) {
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
