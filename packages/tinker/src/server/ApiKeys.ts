/** Identifies callers by the server's API keys. A server without keys answers only programs on its machine. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import type { Caller } from "./Caller.ts"
import { HttpRefusal } from "./HttpRefusal.ts"

/** A key and its tenant; a tenant may have several keys. */
export interface ApiKey {
  readonly tenant: string
  readonly key: Redacted.Redacted
}

/** Hashes keys to a fixed length, so comparisons take constant time. */
const digest = (key: string) => createHash("sha256").update(key).digest()

const named = /^([A-Za-z0-9][A-Za-z0-9._-]{0,39})=(.+)$/

/**
 * Parses comma-separated keys. Each is `<tenant>=<key>`, or only a key, whose tenant is then named after the key's digest.
 *
 * @example
 * const keys = ApiKeys.parse("ada=tml-one,grace=tml-two")
 */
export const parse = (text: string): ReadonlyArray<ApiKey> =>
  text.split(",").map((one) => one.trim()).filter((one) => one !== "").map((one) => {
    const [, tenant = `key-${digest(one).toString("hex").slice(0, 12)}`, key = one] = named.exec(one) ?? []
    return { tenant, key: Redacted.make(key) }
  })

const unauthorized = new HttpRefusal({
  status: 401,
  detail: "X-API-Key is missing or is not one of this server's keys"
})

const foreign = new HttpRefusal({
  status: 403,
  detail: "this server has no API keys and answers its own machine alone"
})

const isLoopbackAddress = (address: string) => address === "::1" || /^(::ffff:)?127\./.test(address)

/** An IP address or `localhost`, not a name that someone else could point to this machine. */
const ownHost = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i

/**
 * Whether a local program sends the request, rather than a web page in a local browser. Pages send an `Origin` header or, if their host
 * name was pointed at this machine, that name as `Host`.
 */
const isLocal = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest) =>
  Option.match(remoteAddress, { onNone: () => true, onSome: isLoopbackAddress })
  && headers["origin"] === undefined
  && ownHost.test(headers["host"] ?? "")

const bearer = /^bearer (.+)$/i

/** The request's key. OpenAI clients send it as a bearer token. */
const keyOf = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  headers["x-api-key"] ?? bearer.exec(headers["authorization"] ?? "")?.[1] ?? ""

export const identify = (
  keys: ReadonlyArray<ApiKey>
): Effect.Effect<Caller["Service"], HttpRefusal, HttpServerRequest.HttpServerRequest> => {
  const known = keys.map(({ key, tenant }) => ({ tenant, digest: digest(Redacted.value(key)) }))
  return Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request): Effect.Effect<Caller["Service"], HttpRefusal> => {
      if (known.length === 0) return isLocal(request) ? Effect.succeed({ tenant: undefined }) : Effect.fail(foreign)
      const given = digest(keyOf(request))
      const [match] = known.filter((one) => timingSafeEqual(one.digest, given))
      return match === undefined ? Effect.fail(unauthorized) : Effect.succeed({ tenant: match.tenant })
    }
  )
}
