/** The place at which an agent reaches its model: a `fetch` of this process, or an address for others. */
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Scope from "effect/Scope"
import * as Dialects from "../dialect/Dialects.ts"
import type { Incoming } from "../dialect/Incoming.ts"
import type { Refusal } from "../dialect/Refusal.ts"
import type { Answering, Sent } from "./CapturedAnswers.ts"
import * as Redaction from "./Redaction.ts"
import * as RequestBody from "./RequestBody.ts"

/** Where and how clients reach the model. */
export interface Place {
  /** Sends requests to the addresses below, and other requests nowhere. */
  readonly fetch: typeof globalThis.fetch
  /** The address for clients of OpenAI. */
  readonly baseUrl: string
  /** The address for clients of Anthropic, which add `/v1` themselves. */
  readonly anthropicBaseUrl: string
  /** A key that clients may send; the address alone is enough. */
  readonly apiKey: string
  /** The name of this episode's session. */
  readonly session: string
  /** Takes the session's address and key out of a text, which others may then read. */
  readonly redact: Redaction.Redact
}

/** Answers the requests of one session. */
export type Answers = (sent: Sent) => Effect.Effect<Answering, Refusal>

/** Makes a place whose requests are answered until the scope closes. */
export type Open = (answers: Answers) => Effect.Effect<Place, never, Scope.Scope>

/** The variables from which clients of OpenAI and Anthropic read where to go. */
export const variables = ({ anthropicBaseUrl, apiKey, baseUrl }: Place): Readonly<Record<string, string>> => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: apiKey,
  ANTHROPIC_BASE_URL: anthropicBaseUrl,
  ANTHROPIC_API_KEY: apiKey
})

/** Clients of OpenAI and Anthropic count their retries; others name the request that they repeat. */
export const sent = ({ headers }: HttpServerRequest.HttpServerRequest): Sent => ({
  isRepeated: Number(headers["x-stainless-retry-count"] ?? 0) > 0,
  idempotencyKey: headers["idempotency-key"]
})

/** A session to which requests come. */
export interface Opened {
  readonly answers: Answers
  /** Lets a request in until the scope closes, before its body is read. */
  readonly admission: Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest | Scope.Scope>
  readonly redact: Redaction.Redact
}

/** The request of a client, for the dialects. Neither its model nor its transcript shows what was handed out to it. */
export const incoming = (
  { admission, answers, redact }: Opened
): Effect.Effect<Incoming, Refusal, HttpServerRequest.HttpServerRequest | Scope.Scope> =>
  Effect.map(
    Effect.andThen(
      admission,
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => answers(sent(request)))
    ),
    (answering) => ({ ...answering, body: Effect.map(RequestBody.text, redact) })
  )

/** No address of any network: requests to it never leave the process. */
const host = `http://${Redaction.host}`

const webHandler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** A `fetch` of this process. */
export const inProcess: Open = Effect.fnUntraced(function*(answers) {
  const routes = HttpRouter.addAll(
    Dialects.routes(incoming({ answers, admission: Effect.void, redact: Redaction.none })),
    { prefix: "/v1" }
  )
  const handled = yield* HttpRouter.toHttpEffect(routes)
  const handler = webHandler(yield* Effect.context<never>())(handled)
  return {
    fetch: (input, init) => handler(new Request(input, init)),
    baseUrl: `${host}/v1`,
    anthropicBaseUrl: host,
    apiKey: "in-process",
    session: "in-process",
    redact: Redaction.none
  }
})
