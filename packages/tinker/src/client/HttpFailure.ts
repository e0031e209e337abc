/** How a request fails on its way to the service or there. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const transientStatuses: ReadonlyArray<number> = [408, 425, 429]

/** Without `status` there was no answer, or none that could be read. */
export class HttpFailure extends Schema.TaggedError<HttpFailure>()("HttpFailure", {
  detail: Schema.String,
  status: Schema.optionalKey(Schema.Int),
  retryAfterMillis: Schema.optionalKey(Schema.Number),
  /** What a server of this project says itself, and every server about failed work. */
  reason: Schema.optionalKey(TinkerError.Reason),
  /** Whether an earlier attempt may have been carried out although it was not answered. */
  isRepeated: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return this.status === undefined ? this.detail : `HTTP ${this.status}: ${this.detail}`
  }
  /** Whether the same request may succeed later. */
  get isTransient() {
    const { reason, status } = this
    if (reason !== undefined) return reason._tag === "RateLimited"
    return status === undefined || status >= 500 || transientStatuses.includes(status)
  }
  /** Whether the service may have done what was asked all the same. */
  get isAmbiguous() {
    return this.reason === undefined && (this.status === undefined || this.status >= 500 || this.status === 408)
  }
}

const advice = (status: number) => status === 401 || status === 403 ? "; check TINKER_API_KEY" : ""

/** The reason the port knows. */
export const toReason = (failure: HttpFailure): TinkerError.Reason => {
  const { reason, retryAfterMillis, status } = failure
  if (reason !== undefined) return reason
  if (status === 429) {
    return new TinkerError.RateLimited({ retryAfterMillis: Math.ceil(retryAfterMillis ?? 1000) })
  }
  if (status === undefined || status >= 500 || status === 408) {
    return new TinkerError.Unavailable({ detail: failure.message })
  }
  return new TinkerError.Rejected({ detail: `${failure.message}${advice(status)}` })
}

/** Gives failures inside a call the call's name. */
export const named = (operation: string) =>
  Effect.mapError((error: HttpFailure | TinkerError.Reason) =>
    new TinkerError.TinkerError({
      operation,
      reason: error._tag === "HttpFailure" ? toReason(error) : error
    })
  )

/** A 404 about something that was asked for by name. */
export const orNotFound = (kind: "model" | "checkpoint", name: string) =>
  Effect.mapError((failure: HttpFailure) =>
    failure.status === 404 && failure.reason === undefined
      ? new HttpFailure({
        detail: failure.detail,
        status: 404,
        reason: new TinkerError.NotFound({ kind, name, available: [] })
      })
      : failure
  )
