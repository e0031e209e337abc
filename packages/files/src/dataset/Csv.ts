/** Dataset rows from comma-separated values (RFC 4180). */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as FileFailure from "../file/FileFailure.ts"
import * as RowError from "./RowError.ts"

interface Line {
  readonly text: string
  /** Counted from 1. */
  readonly number: number
}

const hasOpenQuote = (text: string) => (text.split("\"").length - 1) % 2 === 1

/** Lines joined where a quoted field contains line breaks; the number is that of the first line. */
const records = () => {
  let [number, pending]: [number, Line | undefined] = [0, undefined]
  return {
    add: (text: string): ReadonlyArray<Line> => {
      number++
      const line = pending === undefined ? { text, number } : { ...pending, text: `${pending.text}\n${text}` }
      pending = hasOpenQuote(line.text) ? line : undefined
      return pending === undefined && line.text !== "" ? [line] : []
    },
    rest: (): ReadonlyArray<Line> => pending === undefined ? [] : [pending]
  }
}

const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/uy

/** Undefined where a quote is misplaced. */
const fieldsOf = (text: string): ReadonlyArray<string> | undefined => {
  const fields: Array<string> = []
  field.lastIndex = 0
  for (;;) {
    const match = field.exec(text)
    if (match === null) return undefined
    fields.push(match[1]?.replaceAll("\"\"", "\"") ?? match[2] ?? "")
    if (match[3] === "") return fields
  }
}

const fieldsOrFail = (file: string, { number, text }: Line) => {
  const fields = fieldsOf(text)
  return fields === undefined
    ? Effect.fail(
      new RowError.RowError({ file, row: number, detail: "has a misplaced quotation mark", text: text.slice(0, 200) })
    )
    : Effect.succeed(fields)
}

/** The values of a row, by the names in the first line. */
const named = (file: string, names: ReadonlyArray<string>, fields: ReadonlyArray<string>, line: Line) =>
  fields.length === names.length
    ? Effect.succeed(Object.fromEntries(names.map((name, index) => [name, fields[index] ?? ""])))
    : Effect.fail(
      new RowError.RowError({
        file,
        row: line.number,
        detail: `has ${fields.length} fields, expected the ${names.length} of the first line`,
        text: line.text.slice(0, 200)
      })
    )

/**
 * Rows in the order of the file as objects of strings, whose keys the first line names.
 *
 * @example
 * const problems = Csv.rows("sums.csv", Schema.Struct({ question: Schema.String, answer: Schema.String }))
 */
export const rows = <A, R>(
  file: string,
  schema: Schema.ConstraintDecoder<A, R>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem | R> =>
  Stream.suspend(() => {
    const joined = records()
    let names: ReadonlyArray<string> | undefined
    const decode = Effect.fnUntraced(function*(line: Line) {
      const row = yield* named(file, names ?? [], yield* fieldsOrFail(file, line), line)
      return yield* Effect.mapError(
        Schema.decodeUnknownEffect(schema)(row),
        (error) => RowError.invalidRow(file, line.number, error, line.text)
      )
    })
    const withoutHeader = Effect.fnUntraced(function*(line: Line) {
      if (names !== undefined) return [[line, line.number] as const]
      names = yield* fieldsOrFail(file, line)
      return []
    })
    return Stream.unwrap(Effect.map(FileSystem.FileSystem, (fs) => fs.stream(file))).pipe(
      Stream.mapError((error) => new RowError.RowError({ file, detail: FileFailure.describe("it", error) })),
      Stream.decodeText(),
      Stream.splitLines,
      Stream.map((text) => joined.add(text.replace(/^\ufeff/, ""))),
      Stream.concat(Stream.sync(joined.rest)),
      Stream.flattenIterable,
      Stream.mapEffect(withoutHeader),
      Stream.flattenIterable,
      RowError.decodeRows(decode, options)
    )
  })
