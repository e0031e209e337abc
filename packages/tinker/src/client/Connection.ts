/** Requests to one service: credentials, time limits, and attempts again after failures that pass. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import { Refused } from "../wire/Future.ts"
import * as Json from "../wire/Json.ts"
import { HttpFailure } from "./HttpFailure.ts"

export interface Options {
  /** Up to but not including `/api/v1`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  /** How long a request, or the work behind it, is tried before it fails as `Unavailable`. */
  readonly deadline: Duration.Duration
}

export interface Answer {
  readonly isProtobuf: boolean
  readonly bytes: Uint8Array
}

export type Request = HttpClientRequest.HttpClientRequest

export interface Connection {
  readonly deadline: Duration.Duration
  /** One attempt of at most `limit`. */
  readonly attempt: (request: Request, limit?: Duration.Input) => Effect.Effect<Answer, HttpFailure>
  /** Attempts until an answer, a refusal or the deadline. */
  readonly send: (request: Request) => Effect.Effect<Answer, HttpFailure>
}

export const protobuf = "application/x-protobuf"

export const post = (path: string, body: object): Request =>
  HttpClientRequest.post(path).pipe(HttpClientRequest.bodyText(JSON.stringify(body), "application/json"))

/** Reads a JSON answer of a known shape. */
export const reading = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Json.decodeText(schema)
  return ({ bytes }: Answer) => decode(new TextDecoder().decode(bytes))
}

export const malformed = (error: Json.MalformedBody) => new HttpFailure({ detail: error.message })

/** Seconds, or a date. */
const retryAfter = (value: string | undefined, now: number) => {
  const parsed = value === undefined ? undefined : Headers.parseRetryAfter(value)
  return parsed === undefined || Result.isFailure(parsed)
    ? {}
    : { retryAfterMillis: Duration.toMillis(Headers.retryAfterDelay(parsed.success, now)) }
}

const maximumDetail = 500

const refusedBody = Json.decodeText(Refused)

const detailOf = (detail: unknown, text: string) =>
  (typeof detail === "string" ? detail : text.length === 0 ? "no body" : text).slice(0, maximumDetail)

/** A 400 without any body comes from something in between, not from the service. */
const refusal = Effect.fnUntraced(
  function*({ headers, status }: HttpClientResponse.HttpClientResponse, text: string) {
    const body = yield* Effect.option(refusedBody(text))
    const { detail = undefined, reason = undefined } = body._tag === "Some" ? body.value : {}
    return new HttpFailure({
      detail: detailOf(detail, text),
      ...(status === 400 && text.length === 0 ? {} : { status }),
      ...retryAfter(headers["retry-after"], yield* Clock.currentTimeMillis),
      ...(reason === undefined ? {} : { reason })
    })
  }
)

const isProtobuf = (response: HttpClientResponse.HttpClientResponse) =>
  (response.headers["content-type"] ?? "").includes(protobuf)

const read = Effect.fnUntraced(function*(response: HttpClientResponse.HttpClientResponse) {
  const bytes = new Uint8Array(yield* response.arrayBuffer)
  if (response.status >= 200 && response.status < 300) return { isProtobuf: isProtobuf(response), bytes }
  return yield* Effect.flip(refusal(response, new TextDecoder().decode(bytes)))
})

/** Doubling from half a second to ten, never sooner than the service asks for. */
const backoff = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("10 seconds")]).pipe(
  Schedule.jittered,
  Schedule.setInputType<HttpFailure>(),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.succeed(Duration.max(duration, Duration.millis(input.retryAfterMillis ?? 0)))
  )
)

/** Repeats attempts while failures pass; after the deadline the last failure is the answer. */
export const persist = <A>(
  attempt: Effect.Effect<A, HttpFailure>,
  deadline: Duration.Duration
): Effect.Effect<A, HttpFailure> =>
  Effect.suspend(() => {
    const late = `no answer within ${Duration.format(deadline)}`
    let last = new HttpFailure({ detail: late })
    let isRepeated = false
    return attempt.pipe(
      Effect.mapError((failure) => new HttpFailure({ ...failure, isRepeated })),
      Effect.tapError((failure) =>
        Effect.sync(() => {
          last = new HttpFailure({ ...failure, detail: `${late}: ${failure.detail}` })
          isRepeated ||= failure.isAmbiguous
        })
      ),
      Effect.retry({ schedule: backoff, while: (failure) => failure.isTransient }),
      Effect.timeoutOrElse({ duration: deadline, orElse: () => Effect.fail(last) })
    )
  })

export const make = (client: HttpClient.HttpClient, { apiKey, baseUrl, deadline }: Options): Connection => {
  const http = HttpClient.mapRequest(client, (request) =>
    request.pipe(
      HttpClientRequest.prependUrl(`${baseUrl.replace(/\/+$/, "")}/api/v1`),
      HttpClientRequest.setHeader("x-api-key", Redacted.value(apiKey))
    ))
  const attempt: Connection["attempt"] = (request, limit = "60 seconds") =>
    http.execute(request).pipe(
      Effect.flatMap(read),
      Effect.mapError((error) =>
        error._tag === "HttpFailure"
          ? error
          : new HttpFailure({ detail: `the service is out of reach: ${error.message}` })
      ),
      Effect.timeoutOrElse({
        duration: limit,
        orElse: () => Effect.fail(new HttpFailure({ detail: "the service does not answer" }))
      })
    )
  return { deadline, attempt, send: (request) => persist(attempt(request), deadline) }
}

/** Sends, and reads the answer. */
export const call = <S extends Schema.Decoder<unknown>>(connection: Connection, request: Request, schema: S) =>
  persist(
    Effect.flatMap(connection.attempt(request), (answer) => Effect.mapError(reading(schema)(answer), malformed)),
    connection.deadline
  )
