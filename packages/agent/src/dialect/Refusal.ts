/** A request of a chat client that is refused. Each dialect gives it the form that its clients read. */
import type { TinkerError } from "@effect-rl/core"
import * as Schema from "effect/Schema"

const Status = Schema.Literals([400, 401, 403, 404, 408, 409, 410, 413, 415, 416, 422, 429, 500, 503])

export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  status: Status,
  detail: Schema.String,
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
}) {
  override get message() {
    return this.detail
  }
}

export const badRequest = (detail: string) => new Refusal({ status: 400, detail })

export const notFound = (kind: string, id: string) =>
  new Refusal({ status: 404, detail: `no ${kind} "${id}" on this server` })

/** The body can be read, but lacks a value or has a wrong one. */
export const invalid = (detail: string) => new Refusal({ status: 422, detail })

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

/** A failure of the backend, as its clients are told. */
export const fromTinkerError = ({ message, reason }: TinkerError.TinkerError) =>
  new Refusal({ status: statusOf(reason), detail: message })
