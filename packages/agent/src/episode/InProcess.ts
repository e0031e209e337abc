/** A `fetch` through which an agent in this process reaches its model without the network. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import { ClientAbort } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import * as Dialects from "../dialect/Dialects.ts"
import * as Place from "./Place.ts"
import * as Redaction from "./Redaction.ts"

/** The host of base URLs in this process, where `fetch` calls the handler directly. No real server has this reserved name. */
const host = `http://${Redaction.host}`

/** The session whose agent sends the request. */
class Asking extends Context.Service<Asking, Place.Opened>()("@effect-rl/agent/episode/InProcess/Asking") {}

/** The caller of `fetch`, who waits for the response. */
class Waiting extends Context.Service<Waiting, {
  readonly signal: AbortSignal | null | undefined
  readonly answered: (response: Response) => void
}>()("@effect-rl/agent/episode/InProcess/Waiting") {}

/** Sends the response to the caller of `fetch`. */
const respond = (_: unknown, response: HttpServerResponse.HttpServerResponse) =>
  Effect.contextWith((context: Context.Context<Waiting>) => {
    const { answered, signal } = Context.get(context, Waiting)
    const sent = HttpEffect.scopeTransferToStream(response)
    return Effect.sync(() => answered(HttpServerResponse.toWeb(sent, { context, ...(signal && { signal }) })))
  })

/** The routes of all sessions in this process, for a `Request` and for the text of a body. */
const { handled, texts } = Effect.runSync(
  Effect.gen(function*() {
    const routes = Dialects.routes(Effect.flatMap(Asking, Place.incoming))
    const handled = yield* HttpRouter.toHttpEffect(HttpRouter.addAll(routes, { prefix: "/v1" }))
    return { handled, texts: HttpEffect.toHandled(handled, respond) }
  }).pipe(Effect.scoped)
)

const webHandler = HttpEffect.toWebHandlerWith<Asking, Asking | HttpServerRequest.HttpServerRequest | Scope.Scope>

/** A request with a text, without the costly `Request` that would turn the text into a stream. */
const requestOf = (input: string | URL, body: string, headers: RequestInit["headers"]) =>
  HttpServerRequest.fromClientRequest(HttpClientRequest.post(input, {
    body: HttpBody.text(body),
    ...(headers && { headers: Array.isArray(headers) ? new Headers(headers) : headers })
  }))

/** Opens a place with an in-process `fetch`. */
export const open: Place.Open = Effect.fnUntraced(function*(answers) {
  const opened = { answers, admission: Effect.void, redact: Redaction.none }
  const context = Context.add(yield* Effect.context<never>(), Asking, opened)
  const handler = webHandler(context)(handled)
  return {
    fetch: (input, init = {}) => {
      const { body, headers, method, signal } = init
      if (method !== "POST" || typeof body !== "string" || input instanceof Request) {
        return handler(new Request(input, init))
      }
      return new Promise((answered) => {
        const services = Context.add(context, HttpServerRequest.HttpServerRequest, requestOf(input, body, headers))
        const fiber = Effect.runForkWith(Context.add(services, Waiting, { answered, signal }))(texts)
        if (!signal) return
        const abort = () => fiber.interruptUnsafe(undefined, ClientAbort.annotation)
        if (signal.aborted) abort()
        else {
          signal.addEventListener("abort", abort, { once: true })
          fiber.addObserver(() => signal.removeEventListener("abort", abort))
        }
      })
    },
    baseUrl: `${host}/v1`,
    anthropicBaseUrl: host,
    apiKey: "in-process",
    session: "in-process",
    redact: Redaction.none
  }
})
