/** A recording that cannot be read or made. */
import * as Schema from "effect/Schema"

/** `line` where one line of the file is at fault. */
export class CassetteError extends Schema.TaggedError<CassetteError>()("CassetteError", {
  file: Schema.String,
  line: Schema.optionalKey(Schema.Int),
  detail: Schema.String
}) {
  override get message() {
    return this.line === undefined ? `${this.file}: ${this.detail}` : `${this.file}, line ${this.line}: ${this.detail}`
  }
}
