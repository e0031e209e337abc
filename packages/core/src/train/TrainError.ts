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

/** Of one iteration's members more were lost than `maxDroppedShare`; `reasons` say how many for what, with an example of each. */
export class TooManyDropped extends Schema.TaggedError<TooManyDropped>()("TooManyDropped", {
  iteration: Schema.Int,
  dropped: Schema.Int,
  started: Schema.Int,
  maxDroppedShare: Schema.Finite,
  reasons: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, example: Schema.String }))
}) {
  override get message() {
    const reasons = this.reasons.map(({ count, example, reason }) => `${count} ${reason} (${example})`)
    return `iteration ${this.iteration}: ${this.dropped} of ${this.started} members were lost, more than a share of ` +
      `${this.maxDroppedShare}: ${reasons.join(", ")}; mend what fails, or raise maxDroppedShare`
  }
}

export class TrainError extends Schema.TaggedError<TrainError>()("TrainError", {
  reason: Schema.Union([InvalidConfig, ResumeMismatch, TooManyDropped])
}) {
  override get message() {
    return this.reason.message
  }
}
