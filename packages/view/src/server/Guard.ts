/** Protection of a server on loopback from pages of other sites. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/

const forbidden = (detail: string) => HttpServerResponse.jsonUnsafe({ error: detail }, { status: 403 })

/**
 * Refuses a request whose Host is not a loopback address, as after DNS rebinding, and one that another origin sends. A browser
 * names the origin of every request that a foreign page could read.
 */
const refusal = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  const { host = "", origin } = headers
  if (!loopback.test(host)) return forbidden(`Host is "${host}", expected localhost or 127.0.0.1`)
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

/** The response with the headers of every response here, or a refusal. */
export const guarded = <E, R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const refused = refusal(request)
    return refused === undefined ? handler : Effect.succeed(refused)
  }).pipe(Effect.map(HttpServerResponse.setHeaders(headers)))
