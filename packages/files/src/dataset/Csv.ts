/** Reads dataset rows from comma-separated values (RFC 4180). */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as FileFailure from "../file/FileFailure.ts"
import * as RowError from "./RowError.ts"

interface Line {
  readonly text: string
  /** The line number, from 1. */
  readonly number: number
}

/** A field's value and the position after it. */
interface Field {
  readonly value: string
  readonly end: number
}

/** The quoted field that begins at `start`; undefined if its closing quotation mark is missing. */
const quoted = (text: string, start: number): Field | undefined => {
  const parts: Array<string> = []
  let from = start + 1
  for (;;) {
    const quote = text.indexOf("\"", from)
    if (quote === -1) return undefined
    parts.push(text.slice(from, quote))
    if (text[quote + 1] !== "\"") return { value: parts.join("\""), end: quote + 1 }
    from = quote + 2
  }
}

const plain = (text: string, start: number): Field => {
  const comma = text.indexOf(",", start)
  const end = comma === -1 ? text.length : comma
  return { value: text.slice(start, end), end }
}

/** The fields of a line; undefined if a quotation mark is misplaced or has no closing mark. */
const fieldsOf = (text: string): ReadonlyArray<string> | undefined => {
  const fields: Array<string> = []
  for (let start = 0;; start++) {
    const isQuoted = text[start] === "\""
    const field = isQuoted ? quoted(text, start) : plain(text, start)
    if (field === undefined || (!isQuoted && field.value.includes("\""))) return undefined
    fields.push(field.value)
    start = field.end
    if (start === text.length) return fields
    if (text[start] !== ",") return undefined
  }
}

/** Whether a line ends inside quotation marks, depending on whether it begins inside them. */
const endsInQuotes = (text: string, beginsInQuotes: boolean): boolean => {
  let [at, isQuoted] = [0, beginsInQuotes]
  for (;;) {
    if (!isQuoted && text[at] === "\"") {
      isQuoted = true
      at++
    }
    if (isQuoted) {
      const quote = text.indexOf("\"", at)
      if (quote === -1) return true
      at = quote + 2
      if (text[quote + 1] === "\"") continue
      isQuoted = false
      at = quote + 1
    }
    const comma = text.indexOf(",", at)
    if (comma === -1) return false
    at = comma + 1
  }
}

/** Joins lines if a quoted field contains line breaks. A record has the number of its first line. */
const records = () => {
  let number = 0
  let pending: Array<string> = []
  const joined = (): ReadonlyArray<Line> => {
    const line = { text: pending.join("\n"), number: number - pending.length + 1 }
    pending = []
    return line.text === "" ? [] : [line]
  }
  return {
    add: (text: string): ReadonlyArray<Line> => {
      number++
      const isOpen = endsInQuotes(text, pending.length > 0)
      pending.push(text)
      return isOpen ? [] : joined()
    },
    rest: joined
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

/** The column names. Fails for a duplicate name, since one of its columns would be lost. */
const distinct = (file: string, { number, text }: Line, names: ReadonlyArray<string>) => {
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice === undefined) return Effect.succeed(names)
  const detail = `names two columns "${twice}", expected a name of its own for each`
  return Effect.fail(new RowError.RowError({ file, row: number, detail, text: text.slice(0, 200) }))
}

/** A row's values by column name. Fails if the row has more or fewer fields than there are columns. */
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
 * Decodes each row with `schema`, in file order. A row is an object of strings, and the file's first line gives its keys. Blank lines are
 * skipped. Fails if two columns have the same name.
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
      names = yield* distinct(file, line, yield* fieldsOrFail(file, line))
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
