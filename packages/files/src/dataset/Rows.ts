/** Reads dataset rows from a file of any supported format. */
import type * as FileSystem from "effect/FileSystem"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Csv from "./Csv.ts"
import * as Jsonl from "./Jsonl.ts"
import * as Parquet from "./Parquet.ts"
import * as RowError from "./RowError.ts"

/**
 * Decodes each row of a file with `schema`. The file's extension selects the format: `.jsonl`, `.parquet` or `.csv`. Fails for any other
 * extension.
 *
 * @example
 * const problems = Rows.fromFile("sums.parquet", Schema.Struct({ question: Schema.String }), { broken: "skip" })
 */
export const fromFile = <A, R>(
  file: string,
  schema: Schema.ConstraintDecoder<A, R>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem | R> => {
  if (file.endsWith(".jsonl")) return Jsonl.rows(file, schema, options)
  if (file.endsWith(".parquet")) return Parquet.rows(file, schema, options)
  if (file.endsWith(".csv")) return Csv.rows(file, schema, options)
  return Stream.fail(
    new RowError.RowError({
      file,
      detail: "has an unknown format, expected a name that ends in .jsonl, .parquet or .csv"
    })
  )
}
