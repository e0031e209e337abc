import * as Schema from "effect/Schema"

/** The folder cannot be read or written, or does not hold a checkpoint for this model. */
export class CheckpointError extends Schema.TaggedError<CheckpointError>()("CheckpointError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}
