/**
 * A refused request of a chat client. Each dialect renders it in its own error format.
 *
 * @example
 * const { headers } = Refusal.later(429, "too many requests", 5) // => { "retry-after": "5" }
 */
import type { TinkerError } from "@effect-rl/core"
import * as Schema from "effect/Schema"

const Status = Schema.Literals([400, 401, 403, 404, 408, 409, 410, 413, 415, 416, 422, 429, 500, 503])

/** The token counts of a prompt that does not fit. */
const TooLong = Schema.Struct({
  /** Tokens of the prompt or a lower bound, or, if the backend refused the request, tokens of the prompt and the requested reply. */
  tokens: Schema.Int,
  most: Schema.Int
})

export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  status: Status,
  detail: Schema.String,
  /** The name of the field at fault. */
  field: Schema.optionalKey(Schema.String),
  /** The error code by which clients of the dialect know how to react. */
  code: Schema.optionalKey(Schema.String),
  tooLong: Schema.optionalKey(TooLong),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
}) {
  override get message() {
    return this.detail
  }
}

export const badRequest = (detail: string) => new Refusal({ status: 400, detail })

export const notFound = (kind: string, id: string) =>
  new Refusal({ status: 404, detail: `no ${kind} "${id}" on this server` })

/** Refuses a body that can be parsed, but lacks a value or has a wrong one. */
export const invalid = (detail: string, field?: string) =>
  new Refusal({ status: 422, detail, ...(field === undefined ? {} : { field }) })

/** Refuses a prompt that does not fit into its model's context. */
export const tooLong = (detail: string, tokens: number, most: number) =>
  new Refusal({ status: 400, detail, tooLong: { tokens, most } })

/** Refuses a request whose session has ended. */
export const ended = (detail: string) => new Refusal({ status: 410, detail })

/** Refuses a request temporarily. The client may repeat the request after `seconds`, rounded up and at least 1. */
export const later = (status: 429 | 503, detail: string, seconds: number) =>
  new Refusal({ status, detail, headers: { "retry-after": String(Math.max(Math.ceil(seconds), 1)) } })

/** Default retry delay in seconds, for backends that specify none. */
const usualSeconds = 5

/** The refusal that reports a backend failure with this reason to clients. */
export const fromReason = (reason: TinkerError.Reason, message: string) => {
  switch (reason._tag) {
    case "NotFound":
      return new Refusal({ status: 404, detail: message })
    case "RateLimited":
      return later(429, message, reason.retryAfterMillis / 1000)
    case "Unavailable":
      return later(503, message, usualSeconds)
    case "ContextTooLong":
      return tooLong(message, reason.promptTokens + reason.maxTokens, reason.contextLength)
    default:
      return badRequest(message)
  }
}

/** The refusal that reports a backend failure to clients. */
export const fromTinkerError = ({ message, reason }: TinkerError.TinkerError) => fromReason(reason, message)
