/**
 * A dataset file or one of its rows cannot be read.
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
  /** Number of the row, from 1: the line in JSON Lines and CSV, the row in Parquet. Absent if the error concerns the whole file. */
  row: Schema.optionalKey(Schema.Int),
  /** What is wrong and, in most cases, what was expected. */
  detail: Schema.String,
  /** The row's text, cut to 200 characters. Absent if the error concerns the whole file. */
  text: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    const place = this.row === undefined ? this.file : `${this.file}, row ${this.row}`
    return this.text === undefined ? `${place}: ${this.detail}` : `${place}: ${this.detail}\nin: ${this.text}`
  }
}

/** Options for reading rows. */
export interface Options {
  /**
   * What happens to a row that does not match the schema or is malformed, such as invalid JSON: `"fail"`, the default, ends the stream with
   * an error; `"skip"` logs and omits the row.
   */
  readonly broken?: "fail" | "skip"
}

/** The error for a row that does not match the schema. */
export const invalidRow = (file: string, row: number, error: Schema.SchemaError, text: string): RowError =>
  new RowError({ file, row, detail: error.message, text: text.slice(0, 200) })

/** Maximum number of broken rows to log individually; further ones are only counted. */
const mostLogged = 10

/** Logs the first skipped rows individually and, at the end, the total number if there were more. */
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

/** Decodes numbered rows. If `decode` fails for a row, `options.broken` decides whether the stream fails or the row is skipped. */
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
