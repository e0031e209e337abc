/** The error type of all sandbox providers: the operation, the provider and the reason. */
import * as Schema from "effect/Schema"

/** No provider works on this machine, or the provider does not respond. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** The sandbox could not be set up, so no process was started in it. */
export class Provision extends Schema.TaggedError<Provision>()("Provision", { detail: Schema.String }) {
  override get message() {
    return `the sandbox could not be set up: ${this.detail}`
  }
}

/** The sandbox ended while it was in use, so the program's result is unknown. */
export class Lost extends Schema.TaggedError<Lost>()("Lost", { detail: Schema.String }) {
  override get message() {
    return `the sandbox was lost: ${this.detail}`
  }
}

/** The request is refused: an invalid value, a path outside the sandbox, or code that the provider must not run. */
export class Denied extends Schema.TaggedError<Denied>()("Denied", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}

/** The provider does not support the request. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  capability: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.capability} is not supported: ${this.detail}`
  }
}

/** The reasons why a sandbox can fail. */
export const Reason = Schema.Union([Unavailable, Provision, Lost, Denied, Unsupported])
export type Reason = typeof Reason.Type

/**
 * A failure of a sandbox, which says nothing about the code in it. A program that crashes, hangs or prints too much is an `Outcome`
 * instead. An error fails the group member according to the run's failure policy, and never becomes a reward.
 *
 * @example
 * const open = Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.open({ runtime: "python", role: "grader" }))
 * const patient = Effect.retry(open, { times: 2, while: (error) => error.isRetryable })
 */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  provider: Schema.String,
  operation: Schema.Literals(["probe", "open", "exec", "start", "read", "write"]),
  reason: Reason
}) {
  override get message() {
    return `${this.provider}: ${this.operation}: ${this.reason.message}`
  }
  /** Whether the operation may succeed in another sandbox. */
  get isRetryable() {
    return this.reason._tag !== "Denied" && this.reason._tag !== "Unsupported"
  }
}

/** The sandbox operation that failed. */
export type Operation = SandboxError["operation"]
