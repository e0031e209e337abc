/** Rollout failures other than the errors of the environment, the policy and the hooks. */
import * as Schema from "effect/Schema"
import { GraderThrew, GraderTimedOut } from "../env/Grader.ts"

export { GraderThrew, GraderTimedOut }

/** An environment, grader or policy returned an invalid value. */
export class Violation extends Schema.TaggedError<Violation>()("Violation", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}

/** The rollout needs a capability that its environment lacks. It always fails the run, whatever the failure policy. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  asked: Schema.String,
  missing: Schema.String
}) {
  override get message() {
    return `${this.asked} needs an environment with ${this.missing}`
  }
}

/** The policy exceeded `turnTimeout` in one turn. */
export class TurnTimedOut extends Schema.TaggedError<TurnTimedOut>()("TurnTimedOut", {
  turn: Schema.Int,
  limit: Schema.String
}) {
  override get message() {
    return `the policy did not answer turn ${this.turn} within ${this.limit}: raise limits.turnTimeout, or retry`
  }
}

/** The environment exceeded `stepTimeout` in one call. */
export class StepTimedOut extends Schema.TaggedError<StepTimedOut>()("StepTimedOut", {
  turn: Schema.Int,
  limit: Schema.String
}) {
  override get message() {
    return `the environment did not answer turn ${this.turn} within ${this.limit}: raise limits.stepTimeout, or retry`
  }
}

/** A member exceeded `memberTimeout`. */
export class MemberTimedOut extends Schema.TaggedError<MemberTimedOut>()("MemberTimedOut", {
  limit: Schema.String
}) {
  override get message() {
    return `not finished within ${this.limit}: raise memberTimeout, or let onFailure drop or skip slow members`
  }
}

/** Acquiring or releasing resources took longer than `releaseTimeout` after the attempt ended, and was abandoned. */
export class ReleaseTimedOut extends Schema.TaggedError<ReleaseTimedOut>()("ReleaseTimedOut", {
  limit: Schema.String
}) {
  override get message() {
    return `still busy ${this.limit} after it was over, and abandoned: bound the time of its acquisitions and releases, or raise releaseTimeout`
  }
}

/** A group cannot be rolled out in another process, because a part of it exists only in this one. */
export class NotPortable extends Schema.TaggedError<NotPortable>()("NotPortable", {
  what: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.what} cannot be sent to where the group is rolled out: ${this.expected}`
  }
}

/** The worker has no task with the given name. */
export class UnknownTask extends Schema.TaggedError<UnknownTask>()("UnknownTask", {
  name: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return `the worker has no task "${this.name}", it has: ${this.known.join(", ")}`
  }
}

/** An error in a worker. `error` is its tag; `isRetryable` tells whether the same request may succeed later. */
export class TaskFailed extends Schema.TaggedError<TaskFailed>()("TaskFailed", {
  error: Schema.String,
  detail: Schema.String,
  isRetryable: Schema.Boolean
}) {
  override get message() {
    return `${this.error} in the worker: ${this.detail}`
  }
}

/** The executor could not roll out the group. */
export class ExecutorFailed extends Schema.TaggedError<ExecutorFailed>()("ExecutorFailed", {
  detail: Schema.String
}) {
  override get message() {
    return `the executor failed: ${this.detail}`
  }
}

/**
 * An error of a rollout. `member` is −1 if it concerns the whole group.
 *
 * @example
 * const patient = Rollout.group(builder, policy).pipe(
 *   Effect.catchTag("RolloutError", ({ reason }) => Console.log(`not rolled out: ${reason._tag}`))
 * )
 */
export class RolloutError extends Schema.TaggedError<RolloutError>()("RolloutError", {
  group: Schema.String,
  member: Schema.Int,
  reason: Schema.Union([
    Violation,
    Unsupported,
    TurnTimedOut,
    StepTimedOut,
    GraderTimedOut,
    GraderThrew,
    MemberTimedOut,
    ReleaseTimedOut,
    NotPortable,
    UnknownTask,
    TaskFailed,
    ExecutorFailed
  ])
}) {
  override get message() {
    const who = this.member < 0 ? `group "${this.group}"` : `group "${this.group}", member ${this.member}`
    return `${who}: ${this.reason.message}`
  }
}

/** All reasons for which a rollout can fail. */
export type Reason = RolloutError["reason"]
