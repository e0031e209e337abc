/** The refusal of a request, which is answered immediately with an HTTP status other than 200. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Future from "../wire/Future.ts"

const Status = Schema.Literals([400, 401, 403, 404, 408, 409, 410, 413, 415, 416, 422, 429, 500, 503])

export class HttpRefusal extends Schema.TaggedError<HttpRefusal>()("HttpRefusal", {
  status: Status,
  detail: Schema.String,
  reason: Schema.optionalKey(TinkerError.Reason),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
}) {
  override get message() {
    return this.detail
  }
}

export const badRequest = (detail: string) => new HttpRefusal({ status: 400, detail })

export const notFound = (kind: string, id: string) =>
  new HttpRefusal({ status: 404, detail: `no ${kind} "${id}" on this server` })

/** Refuses a request temporarily; its client may repeat it after `seconds`. */
export const tooMany = (detail: string, seconds: number) =>
  new HttpRefusal({ status: 429, detail, headers: { "retry-after": String(seconds) } })

/** Refuses a body that can be parsed, but lacks a value or has a wrong one. */
export const invalid = (detail: string) => new HttpRefusal({ status: 422, detail })

const statusOf = ({ _tag }: TinkerError.Reason): typeof Status.Type => {
  switch (_tag) {
    case "NotFound":
      return 404
    case "RateLimited":
      return 429
    case "Unavailable":
      return 503
    default:
      return 400
  }
}

/** The refusal of a request that the backend rejects before a promise exists. */
export const fromTinkerError = ({ message, reason }: TinkerError.TinkerError) =>
  new HttpRefusal({ status: statusOf(reason), detail: message, reason })

/** The response for a refusal. The response always has a body, because clients attribute a 400 without a body to a proxy. */
export const respond = ({ detail, headers, reason, status }: HttpRefusal) =>
  Effect.map(
    Effect.orDie(Future.encodeRefused(reason === undefined ? { detail } : { detail, reason })),
    (body) => HttpServerResponse.jsonUnsafe(body, { status, ...(headers === undefined ? {} : { headers }) })
  )
