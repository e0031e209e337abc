/** What no dataset can be made of. */
import * as Schema from "effect/Schema"

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}
