/** What is wrong with a run itself. */
import * as Schema from "effect/Schema"

/** A field of the configuration that no run can be made of. */
export class InvalidConfig extends Schema.TaggedError<InvalidConfig>()("InvalidConfig", {
  field: Schema.String,
  value: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.value}, expected ${this.expected}`
  }
}

/** The stored run was started with something else. */
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

export class TrainError extends Schema.TaggedError<TrainError>()("TrainError", {
  reason: Schema.Union([InvalidConfig, ResumeMismatch])
}) {
  override get message() {
    return this.reason.message
  }
}
