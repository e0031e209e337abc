/**
 * Failures of requests in transit or at the service; they are the causes of the `TinkerError`s that callers get.
 *
 * @example
 * const isMissing = (error: WireError.WireError) => WireError.hasStatus(error, 404)
 */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const detail = Schema.String

/** The connection was refused, reset or broken, so no answer arrived. */
export class ConnectionFailed extends Schema.TaggedError<ConnectionFailed>()("ConnectionFailed", { detail }) {
  override get message() {
    return `the service is out of reach: ${this.detail}`
  }
}

/** No answer arrived in time. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", { detail }) {
  override get message() {
    return this.detail
  }
}

/** The answer does not conform to the API. */
export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { detail }) {
  override get message() {
    return this.detail
  }
}

/** The answer is larger than the client's limit; none of it is used. */
export class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", {
  /** The limit in bytes. */
  limit: Schema.Int
}) {
  override get message() {
    return `the service answered with more than ${this.limit} bytes, the largest answer that is read`
  }
}

/** The answer can be parsed but is implausible; none of it is used. */
export class Untrusted extends Schema.TaggedError<Untrusted>()("Untrusted", { detail }) {
  override get message() {
    return `the service answered ${this.detail}; nothing of it is used`
  }
}

/** The credential is missing, invalid or insufficient for the request. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { status: Schema.Int, detail }) {
  override get message() {
    return `HTTP ${this.status}: ${this.detail}; check TINKER_API_KEY`
  }
}

/** The account currently cannot pay. */
export class BillingPaused extends Schema.TaggedError<BillingPaused>()("BillingPaused", { detail }) {
  override get message() {
    return `HTTP 402: ${this.detail}; check the account's billing`
  }
}

export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", { detail }) {
  override get message() {
    return `HTTP 429: ${this.detail}`
  }
}

/** The service has dropped the result (410) or does not know it (404). */
export class PromiseLost extends Schema.TaggedError<PromiseLost>()("PromiseLost", { status: Schema.Int, detail }) {
  override get message() {
    return `HTTP ${this.status}: the service lost the result: ${this.detail}`
  }
}

/** The requested work failed; the service reports whose fault it was. */
export class RequestFailed extends Schema.TaggedError<RequestFailed>()("RequestFailed", {
  category: Schema.Literals(["user", "server", "unknown"]),
  detail,
  /** The port's own reason; only servers of this project send it. */
  said: Schema.optionalKey(TinkerError.Reason)
}) {
  override get message() {
    return this.detail
  }
}

/** The service refused the request with a status that no other reason covers. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  status: Schema.Int,
  detail,
  said: Schema.optionalKey(TinkerError.Reason)
}) {
  override get message() {
    return `HTTP ${this.status}: ${this.detail}`
  }
}

/** Work is in progress, but none of it has completed for the client's `progressTimeout`. */
export class Stuck extends Schema.TaggedError<Stuck>()("Stuck", { detail }) {
  override get message() {
    return this.detail
  }
}

export const Reason = Schema.Union([
  ConnectionFailed,
  NoAnswer,
  Unreadable,
  TooLarge,
  Untrusted,
  Unauthorized,
  BillingPaused,
  RateLimited,
  PromiseLost,
  RequestFailed,
  Refused,
  Stuck
])
export type Reason = typeof Reason.Type

const isPassing = (status: number) => status >= 500 || status === 408 || status === 425

/** The reason why a request has no result, and the `cause` of the caller's `TinkerError`. */
export class WireError extends Schema.TaggedError<WireError>()("WireError", {
  reason: Reason,
  retryAfterMillis: Schema.optionalKey(Schema.Number),
  /** Whether an earlier, unanswered attempt may have been carried out. */
  isRepeated: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return this.reason.message
  }
  /** Whether the same request may succeed later. */
  get isTransient() {
    const { reason } = this
    switch (reason._tag) {
      case "ConnectionFailed":
      case "NoAnswer":
      case "Unreadable":
      case "RateLimited":
        return true
      case "Refused":
        return reason.said === undefined ? isPassing(reason.status) : reason.said._tag === "RateLimited"
      default:
        return false
    }
  }
  /** Whether this or an earlier attempt may have been carried out. A refusal of this attempt says nothing about earlier ones. */
  get mayBeDone() {
    return this.isAmbiguous || this.isRepeated === true
  }
  /** Whether the service may have carried out this attempt despite the failure. */
  get isAmbiguous() {
    const { reason } = this
    switch (reason._tag) {
      case "ConnectionFailed":
      case "NoAnswer":
      case "Unreadable":
      case "PromiseLost":
      case "Stuck":
      case "TooLarge":
      case "Untrusted":
        return true
      case "Refused":
        return reason.said === undefined && isPassing(reason.status) && reason.status !== 425
      default:
        return false
    }
  }
}

export const make = (reason: Reason) => new WireError({ reason })

/** Whether the service answered with this HTTP status and without a reason of the port (`said`). */
export const hasStatus = ({ reason }: WireError, status: number) =>
  "status" in reason && reason.status === status && !("said" in reason && reason.said !== undefined)

const byFault = ({ category, detail, said }: RequestFailed): TinkerError.Reason =>
  said ?? (category === "server" ? new TinkerError.Unavailable({ detail }) : new TinkerError.Rejected({ detail }))

/** The port's error reason for a failure. */
export const toReason = ({ reason, retryAfterMillis }: WireError): TinkerError.Reason => {
  switch (reason._tag) {
    case "RateLimited":
      return new TinkerError.RateLimited({ retryAfterMillis: Math.ceil(retryAfterMillis ?? 1000) })
    case "RequestFailed":
      return byFault(reason)
    case "Unauthorized":
      return new TinkerError.Rejected({ detail: reason.message })
    case "Refused":
      return reason.said ?? (isPassing(reason.status)
        ? new TinkerError.Unavailable({ detail: reason.message })
        : new TinkerError.Rejected({ detail: reason.message }))
    default:
      return new TinkerError.Unavailable({ detail: reason.message })
  }
}

/** Adds the name of a call to failures inside it. */
export const named = (operation: string) =>
  Effect.mapError((error: WireError | TinkerError.Reason) =>
    error._tag === "WireError"
      ? new TinkerError.TinkerError({ operation, reason: toReason(error), cause: error })
      : new TinkerError.TinkerError({ operation, reason: error })
  )

/** Converts a 404 to a not-found error for the named object. */
export const orNotFound = (kind: "model" | "checkpoint", name: string) =>
  Effect.mapError((error: WireError) =>
    hasStatus(error, 404)
      ? make(
        new Refused({
          status: 404,
          detail: error.message,
          said: new TinkerError.NotFound({ kind, name, available: [] })
        })
      )
      : error
  )
