/** Reads dataset rows from JSON Lines. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as FileFailure from "../file/FileFailure.ts"
import * as RowError from "./RowError.ts"

/** Maximum characters per line. Reading fails at a longer line. */
const longestLine = 64 * 2 ** 20

/** Fails for a line longer than `longestLine` before the whole line is in memory. */
const checkLines = (file: string) =>
  Stream.mapAccumEffect(() => 0, (open: number, text: string) => {
    const first = text.indexOf("\n")
    const length = open + (first < 0 ? text.length : first)
    if (length <= longestLine) {
      return Effect.succeed([first < 0 ? length : text.length - text.lastIndexOf("\n") - 1, [text]] as const)
    }
    const detail = `has a line of more than ${longestLine} characters, expected a JSON value in each line`
    return Effect.fail(new RowError.RowError({ file, detail }))
  })

/**
 * Decodes each line's JSON with `schema`, in file order. The file is read in pieces, so it can be larger than memory. Blank lines are
 * skipped. Fails at a line of more than 67,108,864 characters, even if `broken` is `"skip"`.
 *
 * @example
 * const problems = Jsonl.rows("sums.jsonl", Schema.Struct({ question: Schema.String, answer: Schema.String }))
 */
export const rows = <A, R>(
  file: string,
  schema: Schema.ConstraintDecoder<A, R>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem | R> => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return Stream.unwrap(Effect.map(FileSystem.FileSystem, (fs) => fs.stream(file))).pipe(
    Stream.mapError((error) => new RowError.RowError({ file, detail: FileFailure.describe("it", error) })),
    Stream.decodeText(),
    checkLines(file),
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
