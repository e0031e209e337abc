/** A dataset file that cannot be read as what it should hold. */
import * as Schema from "effect/Schema"

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  file: Schema.String,
  /** Counted from 1; a line in JSON lines. Absent where the file as a whole is at fault. */
  row: Schema.optionalKey(Schema.Int),
  /** What was expected, and what was found instead. */
  detail: Schema.String,
  /** The offending text, at most 200 characters. */
  text: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    const place = this.row === undefined ? this.file : `${this.file}, row ${this.row}`
    return this.text === undefined ? `${place}: ${this.detail}` : `${place}: ${this.detail}\nin: ${this.text}`
  }
}

/** A row that its schema refuses. */
export const invalidRow = (file: string, row: number, error: Schema.SchemaError, text: string): DatasetError =>
  new DatasetError({ file, row, detail: error.message, text: text.slice(0, 200) })
