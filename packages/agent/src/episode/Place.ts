/** Where an agent reaches its model: through an in-process `fetch`, or at a network address. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Scope from "effect/Scope"
import type { Incoming } from "../dialect/Incoming.ts"
import type { Refusal } from "../dialect/Refusal.ts"
import type { Answering, Sent } from "./CapturedAnswers.ts"
import type * as Redaction from "./Redaction.ts"
import * as RequestBody from "./RequestBody.ts"

/** How clients reach the model. */
export interface Place {
  /** Sends requests for the addresses below to the model. For an in-process place, no request reaches the network. */
  readonly fetch: typeof globalThis.fetch
  /** The base URL for OpenAI clients. */
  readonly baseUrl: string
  /** The base URL for Anthropic clients, which append `/v1` themselves. */
  readonly anthropicBaseUrl: string
  /** The key for clients. Only a gateway that other machines can reach requires the key; otherwise the URL is sufficient. */
  readonly apiKey: string
  /** The name of this episode's session; a secret if the place is at a network address. */
  readonly session: string
  /** Removes the session's address and key from a text that others may read. */
  readonly redact: Redaction.Redact
}

/** Answers the requests of one session. */
export type Answers = (sent: Sent) => Effect.Effect<Answering, Refusal>

/** Makes a place whose requests are answered until the scope closes. */
export type Open = (answers: Answers) => Effect.Effect<Place, never, Scope.Scope>

/** The environment variables that tell OpenAI and Anthropic clients where to send requests. */
export const variables = ({ anthropicBaseUrl, apiKey, baseUrl }: Place): Readonly<Record<string, string>> => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: apiKey,
  ANTHROPIC_BASE_URL: anthropicBaseUrl,
  ANTHROPIC_API_KEY: apiKey
})

/** Reads retry information. OpenAI and Anthropic clients count their retries; others send an idempotency key. */
export const sent = ({ headers }: HttpServerRequest.HttpServerRequest): Sent => ({
  isRepeated: Number(headers["x-stainless-retry-count"] ?? 0) > 0,
  idempotencyKey: headers["idempotency-key"]
})

/** A session that accepts requests. */
export interface Opened {
  readonly answers: Answers
  /** Admits a request until the scope closes, before its body is read. */
  readonly admission: Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest | Scope.Scope>
  readonly redact: Redaction.Redact
}

/** An incoming request for the dialects. The secrets of its place are redacted from what the model and the transcript see. */
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
