/** Sends requests to one service, with credentials, time limits and retries of transient failures. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as SentCredentials from "../wire/SentCredentials.ts"
import type { Observe } from "./Activity.ts"
import * as Answer from "./Answer.ts"
import * as BoundedBody from "./BoundedBody.ts"
import type { Budget } from "./Budget.ts"
import type { Deadlines } from "./Deadlines.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import * as ServiceText from "./ServiceText.ts"
import * as WireError from "./WireError.ts"

/** Client id and secret of a Cloudflare Access service token. */
export interface CloudflareAccess {
  readonly clientId: Redacted.Redacted
  readonly clientSecret: Redacted.Redacted
}

export interface Options {
  /** The service URL without `/api/v1`. */
  readonly baseUrl: string
  readonly cloudflareAccess?: CloudflareAccess
  readonly credential: Effect.Effect<Redacted.Redacted, WireError.WireError>
  /** How long to wait for a request's result before the request fails as `Unavailable`. */
  readonly deadline: Duration.Duration
  /** How long to retry requests while the account cannot pay. */
  readonly billingPause: Duration.Duration
  readonly connections: Budget
  readonly deadlines: Deadlines
  /** Maximum size of an answer in bytes. */
  readonly largestAnswer: number
  readonly observe: Observe
}

export type Request = HttpClientRequest.HttpClientRequest

type Wired<A> = Effect.Effect<A, WireError.WireError>

export interface Connection {
  readonly options: Options
  /** Makes one attempt of at most `limit` (default: 60 seconds) and returns the answer with any status. */
  readonly exchange: (request: Request, limit?: Duration.Input) => Wired<Answer.Answer>
  /** Makes one attempt of at most `limit` (default: 60 seconds). Fails unless the answer is successful. */
  readonly attempt: (request: Request, limit?: Duration.Input) => Wired<Answer.Answer>
  /** Gets any URL, follows redirects, and returns the response with its body unread. Credentials are sent only to the service's origin. */
  readonly open: (
    url: string,
    headers: Readonly<Record<string, string>>
  ) => Wired<HttpClientResponse.HttpClientResponse>
  /** Retries an attempt according to the policy. Events name the request `what`. */
  readonly retry: <A>(policy: RetryPolicy.RetryPolicy, what: string, attempt: Wired<A>) => Wired<A>
  /** Like `retry`; failures record whether an earlier attempt may have been carried out. */
  readonly repeat: <A>(policy: RetryPolicy.RetryPolicy, what: string, attempt: Wired<A>) => Wired<A>
  /** Like `repeat`, until the deadline. */
  readonly persist: <A>(policy: RetryPolicy.RetryPolicy, what: string, attempt: Wired<A>) => Wired<A>
}

export const postBytes = (path: string, json: Uint8Array): Request =>
  HttpClientRequest.post(path).pipe(HttpClientRequest.bodyUint8Array(json, "application/json"))

const encoder = new TextEncoder()

export const post = (path: string, body: object): Request => postBytes(path, encoder.encode(JSON.stringify(body)))

const reader = ({ largestAnswer }: Options) => (response: HttpClientResponse.HttpClientResponse) =>
  BoundedBody.read(response, largestAnswer).pipe(
    Effect.map((bytes): Answer.Answer => ({ status: response.status, headers: response.headers, bytes })),
    Effect.mapError((error) => error._tag === "WireError" ? error : outOfReach(error))
  )

/** The header value for a credential, which is remembered so recordings can exclude it. */
const sent = (credential: Redacted.Redacted): string => {
  const value = Redacted.value(credential)
  SentCredentials.note(value)
  return value
}

const signed = ({ cloudflareAccess }: Options, credential: Redacted.Redacted) => (request: Request) =>
  request.pipe(
    HttpClientRequest.setHeader("x-api-key", sent(credential)),
    cloudflareAccess === undefined ? (same) => same : HttpClientRequest.setHeaders({
      "cf-access-client-id": sent(cloudflareAccess.clientId),
      "cf-access-client-secret": sent(cloudflareAccess.clientSecret)
    })
  )

const usualLimit = Duration.seconds(60)

const mostRedirects = 5

const noAnswer = () => WireError.make(new WireError.NoAnswer({ detail: "the service does not answer" }))

const secretHeaders = ["authorization", "cookie", "set-cookie", "x-api-key", /^cf-access-/]

/** The innermost cause of an error. For an HTTP client error it is the system's error, such as ECONNREFUSED. */
const bottomOf = (error: Error): Error => error.cause instanceof Error ? bottomOf(error.cause) : error

const outOfReach = (error: Error) => WireError.make(new WireError.ConnectionFailed({ detail: bottomOf(error).message }))

const always = () => true

/** Disables automatic redirects, which could leak credentials, and hides credentials in spans. */
const discreet = Context.make(FetchHttpClient.RequestInit, { redirect: "manual" }).pipe(
  Context.add(Headers.CurrentRedactedNames, secretHeaders)
)

const untraced = Context.add(discreet, HttpClient.TracerDisabledWhen, always)

/** Creates spans only if a tracer records them, because a span costs as much as the request. */
export const quietly = <A, E>(requests: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.contextWith((context: Context.Context<never>) => {
    if (Context.get(context, HttpClient.TracerDisabledWhen) === always) return requests
    const isTraced = Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer
    return Effect.provideContext(requests, isTraced ? discreet : untraced)
  })

const late = (limit: Duration.Duration, last: () => WireError.WireError | undefined) => () => {
  const error = last()
  const detail = `no answer within ${Duration.format(limit)}${error === undefined ? "" : `: ${error.message}`}`
  return WireError.make(new WireError.NoAnswer({ detail }))
}

/** Fails work that exceeds the limit. The failure includes the work's last error, if `last` returns one. */
export const within = (
  { deadlines }: Pick<Options, "deadlines">,
  limit: Duration.Duration,
  last: () => WireError.WireError | undefined = () => undefined
) => deadlines.within(limit, late(limit, last))

/** Starts a deadline for work, counted from now. */
export const deadline = ({ deadlines }: Pick<Options, "deadlines">, limit: Duration.Duration) =>
  deadlines.watch(limit, late(limit, () => undefined))

/** The attempt from which failures are logged as warnings. */
const worryingAttempt = 3

const betweenWarnings = Duration.minutes(1)

export const make = (client: HttpClient.HttpClient, options: Options): Connection => {
  const { baseUrl, billingPause, connections, credential, deadline, deadlines, observe } = options
  const read = reader(options)
  const root = `${baseUrl.replace(/\/+$/, "")}/api/v1`

  const exchange: Connection["exchange"] = (request, limit = usualLimit) =>
    credential.pipe(
      Effect.flatMap((credential) =>
        client.execute(signed(options, credential)(HttpClientRequest.prependUrl(request, root))).pipe(
          Effect.mapError(outOfReach),
          Effect.flatMap(read),
          deadlines.within(Duration.fromInputUnsafe(limit), noAnswer),
          connections.use(1)
        )
      ),
      quietly
    )

  const attempt: Connection["attempt"] = (request, limit) =>
    Effect.flatMap(
      exchange(request, limit),
      (answer) => Answer.isSuccess(answer) ? Effect.succeed(answer) : Effect.flip(Answer.refusal(answer))
    )

  const get = (url: URL, headers: Readonly<Record<string, string>>) => {
    const request = HttpClientRequest.get(url.href).pipe(HttpClientRequest.setHeaders(headers))
    const isOwn = url.origin === new URL(baseUrl).origin
    return Effect.map(credential, (credential) => isOwn ? signed(options, credential)(request) : request)
  }

  /** Requests an address, and follows redirects here, because `fetch` would forward the credentials. */
  const follow = (
    url: string,
    headers: Readonly<Record<string, string>>,
    redirects: number
  ): Wired<HttpClientResponse.HttpClientResponse> =>
    Effect.gen(function*() {
      if (!URL.canParse(url, baseUrl)) {
        return yield* WireError.make(new WireError.Unreadable({ detail: `"${url}" is not an address` }))
      }
      const at = new URL(url, baseUrl)
      const response = yield* deadlines.within(usualLimit, noAnswer)(
        Effect.mapError(client.execute(yield* get(at, headers)), outOfReach)
      )
      const location = Answer.locationOf(response)
      if (location !== undefined && redirects > 0) {
        return yield* follow(new URL(location, at).href, headers, redirects - 1)
      }
      if (response.status < 300) return response
      return yield* yield* Answer.refusal(yield* read(response))
    })

  const open: Connection["open"] = (url, headers) => quietly(follow(url, headers, mostRedirects))

  let warnedAt = -Infinity

  /** Logs a warning so the user can correct the address or start the service. Requests that wait at the same time count as one outage. */
  const warn = Effect.fnUntraced(function*({ attempt, input }: Schedule.Metadata<unknown, WireError.WireError>) {
    const now = yield* Clock.currentTimeMillis
    const isPatient = attempt < worryingAttempt && input.reason._tag !== "BillingPaused"
    if (isPatient || now - warnedAt < Duration.toMillis(betweenWarnings)) return
    warnedAt = now
    yield* Effect.logWarning(`${baseUrl} is asked again: ${ServiceText.line(input.message)}`)
  })

  const retry: Connection["retry"] = (policy, what, attempt) => {
    const told = (policy: RetryPolicy.RetryPolicy) => () =>
      Schedule.tap(RetryPolicy.observed(policy, what, observe), warn)
    return attempt.pipe(RetryPolicy.retry(told(RetryPolicy.billing(billingPause))), RetryPolicy.retry(told(policy)))
  }

  const repeat: Connection["repeat"] = (policy, what, attempt) =>
    Effect.suspend(() => {
      let isRepeated = false
      const noted = attempt.pipe(
        Effect.mapError((error) => new WireError.WireError({ ...error, isRepeated })),
        Effect.tapError((error) =>
          Effect.sync(() => {
            isRepeated ||= error.isAmbiguous
          })
        )
      )
      return retry(policy, what, noted)
    })

  const persist: Connection["persist"] = (policy, what, attempt) =>
    Effect.suspend(() => {
      let last: WireError.WireError | undefined
      const noted = Effect.tapError(attempt, (error) =>
        Effect.sync(() => {
          last = error
        }))
      return within(options, deadline, () => last)(repeat(policy, what, noted))
    })

  return { options, exchange, attempt, open, retry, repeat, persist }
}

/** The same connection without its deadline, for requests within work that has its own deadline. */
export const unhurried = (connection: Connection): Connection => ({
  ...connection,
  options: { ...connection.options, deadline: Duration.infinity },
  persist: connection.repeat
})

type Reading<A> = (answer: Answer.Answer) => Wired<A>

/** Sends a request, with retries until the deadline, and reads its answer. */
export const ask = <A>(
  { attempt, persist }: Connection,
  request: Request,
  read: Reading<A>,
  policy: RetryPolicy.RetryPolicy = RetryPolicy.control
): Wired<A> => persist(policy, request.url, Effect.flatMap(attempt(request), read))

/** Sends a request as `ask` does, and decodes its answer by a schema. */
export const call = <S extends Schema.Decoder<unknown>>(
  connection: Connection,
  request: Request,
  schema: S,
  policy?: RetryPolicy.RetryPolicy
): Wired<S["Type"]> => ask(connection, request, Answer.reading(schema), policy)
