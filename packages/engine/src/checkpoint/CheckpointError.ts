import * as Schema from "effect/Schema"

/** The folder does not hold a checkpoint that this model can use, or cannot be read or written. */
export class CheckpointError extends Schema.TaggedError<CheckpointError>()("CheckpointError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}
