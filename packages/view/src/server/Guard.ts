/** Protects the server against pages of other sites and, if it listens beyond this machine, against other people. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createHash, timingSafeEqual } from "node:crypto"
import * as Compressing from "./Compressing.ts"

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/

const forbidden = (detail: string) => HttpServerResponse.jsonUnsafe({ error: detail }, { status: 403 })

const digest = (text: string) => createHash("sha256").update(text).digest()

const isEqual = (left: string, right: string) => timingSafeEqual(digest(left), digest(right))

const cookie = "effect-rl-view"

/** The request's token: from its address at first, later from a cookie. */
const tokenOf = ({ cookies, url }: HttpServerRequest.HttpServerRequest) =>
  new URLSearchParams(url.split("?")[1]).get("token") ?? cookies[cookie] ?? ""

/**
 * Refuses requests whose Host is not a loopback address, which prevents DNS rebinding, and requests from other origins. A browser sends the
 * origin with every request whose response a foreign page could read. With a token, any Host is allowed, because a browser sends the cookie
 * only to the host that set it.
 */
const refusal = (request: HttpServerRequest.HttpServerRequest, token: string | undefined) => {
  const { headers } = request
  const { host = "", origin } = headers
  if (token === undefined && !loopback.test(host)) {
    return forbidden(`Host is "${host}", expected localhost or 127.0.0.1`)
  }
  if (token !== undefined && !isEqual(tokenOf(request), token)) {
    return forbidden("the address needs its token: open the one that effect-rl view printed")
  }
  if (origin !== undefined && origin !== `http://${host}`) return forbidden(`Origin is "${origin}", expected this page`)
  const site = headers["sec-fetch-site"]
  const isNavigation = headers["sec-fetch-mode"] === "navigate"
  if ((site === "cross-site" || site === "same-site") && !isNavigation) {
    return forbidden("the request is another site's")
  }
  return undefined
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const headers = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store"
}

const withHeaders = (response: HttpServerResponse.HttpServerResponse, token: string | undefined) => {
  const guarded = HttpServerResponse.setHeaders(response, { ...headers, ...response.headers })
  return token === undefined
    ? guarded
    : HttpServerResponse.setHeader(guarded, "set-cookie", `${cookie}=${token}; Path=/; HttpOnly; SameSite=Strict`)
}

/** Admits or refuses a request, and adds common headers to the handler's response. */
export type Guard = <E, R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>

/** Without a token, admits only this machine's own page; with a token, requests that carry it. */
export const make = (token: string | undefined): Guard => (handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const refused = refusal(request, token)
    return refused === undefined
      ? handler.pipe(
        Effect.flatMap((response) => Compressing.make(request, response)),
        Effect.map((response) => withHeaders(response, token))
      )
      : Effect.succeed(HttpServerResponse.setHeaders(refused, headers))
  })
