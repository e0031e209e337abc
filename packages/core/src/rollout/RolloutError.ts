/** What goes wrong in a rollout besides the errors of the environment and the policy. */
import * as Schema from "effect/Schema"

/** An environment, grader or policy gave something that no rollout can go on with. */
export class Violation extends Schema.TaggedError<Violation>()("Violation", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}

/** A member took longer than `memberTimeout`. */
export class MemberTimedOut extends Schema.TaggedError<MemberTimedOut>()("MemberTimedOut", {
  limit: Schema.String
}) {
  override get message() {
    return `not finished within ${this.limit}: raise memberTimeout, or let onFailure drop or skip what takes longer`
  }
}

/** `member` is −1 where the group as a whole is at fault. */
export class RolloutError extends Schema.TaggedError<RolloutError>()("RolloutError", {
  group: Schema.String,
  member: Schema.Int,
  reason: Schema.Union([Violation, MemberTimedOut])
}) {
  override get message() {
    const who = this.member < 0 ? `group "${this.group}"` : `group "${this.group}", member ${this.member}`
    return `${who}: ${this.reason.message}`
  }
}
