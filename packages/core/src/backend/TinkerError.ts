/** The error type shared by all backends. */
import * as Schema from "effect/Schema"

/** Too many requests. The call may be retried after the given time. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  retryAfterMillis: Schema.Int
}) {
  override get message() {
    return `rate limited, try again in ${this.retryAfterMillis} ms`
  }
}

/** The request is invalid, or the backend answered it wrongly, so sending it again cannot succeed. */
export class Rejected extends Schema.TaggedError<Rejected>()("Rejected", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** The backend cannot answer at the moment. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  detail: Schema.String,
  /** The resource that the backend has run out of. Closing clients frees it. */
  lacks: Schema.optionalKey(Schema.Literal("memory"))
}) {
  override get message() {
    return this.detail
  }
}

/** The backend does not support the requested feature. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  capability: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.capability} is not supported: ${this.detail}`
  }
}

/** The model or checkpoint does not exist. `available` lists those that do. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  kind: Schema.Literals(["model", "checkpoint"]),
  name: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message() {
    const have = this.available.length === 0 ? "there are none" : `choose from: ${this.available.join(", ")}`
    return `no ${this.kind} "${this.name}"; ${have}`
  }
}

/** The prompt and the tokens to sample (0 in a training pass) do not fit into the model's context. */
export class ContextTooLong extends Schema.TaggedError<ContextTooLong>()("ContextTooLong", {
  promptTokens: Schema.Int,
  maxTokens: Schema.Int,
  contextLength: Schema.Int
}) {
  override get message() {
    const { contextLength, maxTokens, promptTokens } = this
    return maxTokens === 0
      ? `${promptTokens} tokens exceed the context of ${contextLength}: shorten them`
      : `prompt of ${promptTokens} tokens and ${maxTokens} to sample exceed the context of ${contextLength}: ` +
        "shorten the prompt or lower maxTokens"
  }
}

/** The client was unloaded, its scope closed, or an earlier request failed and was never awaited or was needed for this one. */
export class Closed extends Schema.TaggedError<Closed>()("Closed", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** One field that differs between a request and the recorded one. */
const Difference = Schema.Struct({ field: Schema.String, asked: Schema.String, recorded: Schema.String })

/** The backend is a recording, and it does not contain this request. `nearest` is the most similar recorded request. */
export class Unrecorded extends Schema.TaggedError<Unrecorded>()("Unrecorded", {
  recording: Schema.String,
  nearest: Schema.optionalKey(Schema.String),
  differences: Schema.Array(Difference)
}) {
  override get message() {
    const differences = this.differences.map(({ asked, field, recorded }) =>
      `${field} is ${asked}, recorded ${recorded}`
    )
    const nearest = this.nearest === undefined ? "nothing like it was" : `nearest is ${this.nearest}`
    return `not in ${this.recording}; ${
      [nearest, ...differences].join("; ")
    }. Record it again if the program has changed`
  }
}

/** A reason for which a backend call can fail. */
export const Reason = Schema.Union([
  RateLimited,
  Rejected,
  Unavailable,
  Unsupported,
  NotFound,
  ContextTooLong,
  Closed,
  Unrecorded
])
export type Reason = typeof Reason.Type

/**
 * The error of a backend call: the operation and the reason.
 *
 * @example
 * const patient = client.sample({ prompt, params: { maxTokens: 8 } }).pipe(
 *   Effect.retry({ times: 3, while: (error) => error.isRetryable })
 * )
 */
export class TinkerError extends Schema.TaggedError<TinkerError>()("TinkerError", {
  operation: Schema.String,
  reason: Reason,
  /** The backend's own error, if it reports one. */
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `${this.operation}: ${this.reason.message}`
  }
  /** Whether the same call may succeed later. */
  get isRetryable() {
    return this.reason._tag === "RateLimited" || this.reason._tag === "Unavailable"
  }
}
