/**
 * A dataset file, or a row of it, that cannot be read.
 *
 * @example
 * const problems = Jsonl.rows("sums.jsonl", Schema.Struct({ question: Schema.String })).pipe(
 *   Stream.catchTag("RowError", ({ message }) => Stream.fromEffectDrain(Console.warn(message)))
 * )
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

export class RowError extends Schema.TaggedError<RowError>()("RowError", {
  file: Schema.String,
  /** Counted from 1: a line of JSON lines and CSV, a row of Parquet. Absent where the error concerns the whole file. */
  row: Schema.optionalKey(Schema.Int),
  /** The expected value, and the value found instead. */
  detail: Schema.String,
  /** The offending text, at most 200 characters. */
  text: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    const place = this.row === undefined ? this.file : `${this.file}, row ${this.row}`
    return this.text === undefined ? `${place}: ${this.detail}` : `${place}: ${this.detail}\nin: ${this.text}`
  }
}

/** Options of reading rows. */
export interface Options {
  /** Whether a row that does not fit the schema ends the stream with an error, or is logged and left out; default `"fail"`. */
  readonly broken?: "fail" | "skip"
}

/** The error of a row that does not fit the schema. */
export const invalidRow = (file: string, row: number, error: Schema.SchemaError, text: string): RowError =>
  new RowError({ file, row, detail: error.message, text: text.slice(0, 200) })

/** Broken rows that are logged one by one; further ones are only counted. */
const mostLogged = 10

/** Logs what is left out: the first rows each, and at the end how many there were. */
const leftOut = () => {
  let count = 0
  return {
    add: ({ message }: RowError) => {
      count++
      return count > mostLogged ? Effect.void : Effect.logWarning(`left out: ${message}`)
    },
    end: Effect.suspend(() => count <= mostLogged ? Effect.void : Effect.logWarning(`left out ${count} rows in all`))
  }
}

/** Decodes each row, given with its number; the options decide about broken rows. */
export const decodeRows =
  <I, A, R2>(decode: (row: I, number: number) => Effect.Effect<A, RowError, R2>, options: Options = {}) =>
  <E, R>(rows: Stream.Stream<readonly [row: I, number: number], E, R>): Stream.Stream<A, E | RowError, R | R2> => {
    if (options.broken !== "skip") return Stream.mapEffect(rows, ([row, number]) => decode(row, number))
    return Stream.suspend(() => {
      const { add, end } = leftOut()
      return rows.pipe(
        Stream.mapEffect(([row, number]) =>
          decode(row, number).pipe(
            Effect.map((value) => [value]),
            Effect.catchTag("RowError", (error) => Effect.as(add(error), []))
          )
        ),
        Stream.flattenIterable,
        Stream.concat(Stream.fromEffectDrain(end))
      )
    })
  }
