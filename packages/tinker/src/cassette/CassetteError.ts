/** A recording could not be read or written. */
import * as Schema from "effect/Schema"

/** `line` is set if a particular line of the file is at fault. */
export class CassetteError extends Schema.TaggedError<CassetteError>()("CassetteError", {
  file: Schema.String,
  line: Schema.optionalKey(Schema.Int),
  detail: Schema.String
}) {
  override get message() {
    return this.line === undefined ? `${this.file}: ${this.detail}` : `${this.file}, line ${this.line}: ${this.detail}`
  }
}
