/** Dataset rows from JSON lines. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as FileFailure from "../file/FileFailure.ts"
import * as RowError from "./RowError.ts"

/** Rows in the order of the file, one line at a time in memory; blank lines are passed over. */
export const rows = <A, R>(
  file: string,
  schema: Schema.ConstraintDecoder<A, R>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem | R> => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return Stream.unwrap(Effect.map(FileSystem.FileSystem, (fs) => fs.stream(file))).pipe(
    Stream.mapError((error) => new RowError.RowError({ file, detail: FileFailure.describe(file, error) })),
    Stream.decodeText(),
    Stream.splitLines,
    Stream.zipWithIndex,
    Stream.filter(([line]) => line.trim() !== ""),
    Stream.map(([line, index]) => [line, index + 1] as const),
    RowError.decodeRows(
      (line, row) => Effect.mapError(decode(line), (error) => RowError.invalidRow(file, row, error, line)),
      options
    )
  )
}
