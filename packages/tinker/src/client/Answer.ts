/** An answer from the service, and the error for an unsuccessful answer. */
import * as Json from "@effect-rl/agent/wire/Json"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { Refused as RefusedBody } from "../wire/Future.ts"
import * as ServiceText from "./ServiceText.ts"
import * as WireError from "./WireError.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers.Headers
  readonly bytes: Uint8Array
}

export const protobuf = "application/x-protobuf"

const utf8 = new TextDecoder()

export const textOf = ({ bytes }: Answer) => utf8.decode(bytes)

export const isProtobuf = ({ headers }: Answer) => (headers["content-type"] ?? "").includes(protobuf)

const isPage = ({ headers }: Answer) => (headers["content-type"] ?? "").includes("text/html")

/** Rejects HTML pages, which come from a proxy or a wrong address instead of the service. */
export const notAPage = (answer: Answer) =>
  isPage(answer)
    ? Effect.fail(WireError.make(
      new WireError.Unreadable({ detail: "the answer is an HTML page, expected JSON: check the base URL and proxies" })
    ))
    : Effect.void

/** Decodes a JSON answer by a schema. */
export const reading = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Json.decodeText(schema)
  return (answer: Answer) => Effect.andThen(notAPage(answer), Effect.mapError(decode(textOf(answer)), unreadable))
}

export const unreadable = ({ message }: Json.MalformedBody) =>
  WireError.make(new WireError.Unreadable({ detail: ServiceText.line(message) }))

/** The delay that a `retry-after` header requests, in seconds or as a date; no field if there is no valid header. */
const retryAfter = (value: string | undefined, now: number) => {
  const parsed = value === undefined ? undefined : Headers.parseRetryAfter(value)
  return parsed === undefined || Result.isFailure(parsed)
    ? {}
    : { retryAfterMillis: Duration.toMillis(Headers.retryAfterDelay(parsed.success, now)) }
}

const refusedBody = Json.decodeText(RefusedBody)

const detailOf = (detail: unknown, text: string) =>
  ServiceText.line(typeof detail === "string" ? detail : text.length === 0 ? "no body" : text)

const reasonOf = (status: number, detail: string, said: WireError.Refused["said"]): WireError.Reason => {
  if (said !== undefined) return new WireError.Refused({ status, detail, said })
  switch (status) {
    case 401:
    case 403:
      return new WireError.Unauthorized({ status, detail })
    case 402:
      return new WireError.BillingPaused({ detail })
    case 429:
      return new WireError.RateLimited({ detail })
    default:
      return new WireError.Refused({ status, detail })
  }
}

/** The error for an unsuccessful answer. A 400 without a body is attributed to a proxy. */
export const refusal = Effect.fnUntraced(function*(answer: Answer) {
  const { headers, status } = answer
  const text = textOf(answer)
  const body = yield* Effect.option(refusedBody(text))
  const { detail = undefined, reason: said = undefined } = body._tag === "Some" ? body.value : {}
  const location = locationOf(answer)
  if (location !== undefined) {
    return WireError.make(new WireError.Refused({ status, detail: `the service is at ${location}: give that address` }))
  }
  const reason = status === 400 && text.length === 0
    ? new WireError.ConnectionFailed({ detail: "HTTP 400 without a body" })
    : reasonOf(status, detailOf(detail, text), said)
  return new WireError.WireError({ reason, ...retryAfter(headers["retry-after"], yield* Clock.currentTimeMillis) })
})

/** The target of a redirect; undefined for other answers. */
export const locationOf = ({ headers, status }: Pick<Answer, "headers" | "status">) =>
  status >= 300 && status < 400 ? headers["location"] : undefined

export const isSuccess = ({ status }: Answer) => status >= 200 && status < 300
