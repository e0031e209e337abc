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

/** The lines of a file that are not blank, in file order, with their numbers. The file is read in pieces, so it can be larger than memory. */
const numbered = (file: string) =>
  Stream.unwrap(Effect.map(FileSystem.FileSystem, (fs) => fs.stream(file))).pipe(
    Stream.mapError((error) => new RowError.RowError({ file, detail: FileFailure.describe("it", error) })),
    Stream.decodeText(),
    checkLines(file),
    Stream.splitLines,
    Stream.zipWithIndex,
    Stream.filter(([line]) => line.trim() !== ""),
    Stream.map(([line, index]) => [line, index + 1] as const)
  )

/**
 * Reads each line with `read`, such as a schema's decoder followed by a conversion that can fail. Its failures become `RowError`s with the
 * number of their line, and without its text. Otherwise like `rows`.
 *
 * @example
 * const chats = Jsonl.lines("chats.jsonl", (line) =>
 *   Schema.decodeEffect(Schema.fromJsonString(OpenAi.ChatConversation))(line).pipe(Effect.flatMap(OpenAi.toConversation)))
 */
export const lines = <A, R>(
  file: string,
  read: (line: string) => Effect.Effect<A, { readonly message: string }, R>,
  options?: RowError.Options
): Stream.Stream<A, RowError.RowError, FileSystem.FileSystem | R> =>
  numbered(file).pipe(
    RowError.decodeRows(
      (line, row) =>
        Effect.mapError(read(line), ({ message }) => new RowError.RowError({ file, row, detail: message })),
      options
    )
  )

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
  return numbered(file).pipe(
    RowError.decodeRows(
      (line, row) => Effect.mapError(decode(line), (error) => RowError.invalidRow(file, row, error, line)),
      options
    )
  )
}
