/**
 * Why a stored run cannot be resumed.
 *
 * @example
 * const run = Rl.run({ model, dataset }).pipe(
 *   Stream.catchTag("ResumeError", ({ message }) => Stream.fromEffect(Console.log(message)))
 * )
 */
import * as Schema from "effect/Schema"

/** The stored run has a different value for an option of its identity. */
export class ResumeMismatch extends Schema.TaggedError<ResumeMismatch>()("ResumeMismatch", {
  run: Schema.String,
  field: Schema.String,
  stored: Schema.String,
  given: Schema.String
}) {
  override get message() {
    return `${this.run} was started with ${this.field} ${this.stored}, now it is ${this.given}: ` +
      "give the stored value to resume, or choose another run"
  }
}

/** The run saved checkpoints, but none of them exists on the backend any more. */
export class CheckpointsLost extends Schema.TaggedError<CheckpointsLost>()("CheckpointsLost", {
  run: Schema.String,
  newest: Schema.String,
  path: Schema.String
}) {
  override get message() {
    return `${this.run} cannot be resumed: its backend no longer has any of its checkpoints (the newest was ` +
      `${this.newest}, ${this.path}). Restore one, or choose another run`
  }
}

/** The backend refuses the newest checkpoint that still exists. */
export class CheckpointRefused extends Schema.TaggedError<CheckpointRefused>()("CheckpointRefused", {
  run: Schema.String,
  name: Schema.String,
  path: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.run}: checkpoint ${this.name} cannot be resumed from: ${this.detail}; ` +
      `delete ${this.path} to continue from the checkpoint before it`
  }
}

/** The newest checkpoint's record contradicts earlier records, so records were changed after they were written. */
export class CheckpointContradicted extends Schema.TaggedError<CheckpointContradicted>()("CheckpointContradicted", {
  run: Schema.String,
  name: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.run}: the record of checkpoint ${this.name} contradicts others: ${this.detail}; ` +
      "restore the records from a copy, or choose another run"
  }
}

/** The program's state in the newest checkpoint has a format that this version cannot read. */
export class CheckpointUnreadable extends Schema.TaggedError<CheckpointUnreadable>()("CheckpointUnreadable", {
  run: Schema.String,
  iteration: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `${this.run}: the checkpoint after ${this.iteration} iterations is of another version: ${this.detail}; ` +
      `begin a new run, from its weights if you like (loadCheckpointPath)`
  }
}

/** The stored run cannot be resumed. */
export class ResumeError extends Schema.TaggedError<ResumeError>()("ResumeError", {
  reason: Schema.Union([
    ResumeMismatch,
    CheckpointsLost,
    CheckpointRefused,
    CheckpointContradicted,
    CheckpointUnreadable
  ])
}) {
  override get message() {
    return this.reason.message
  }
}
