/** Identifies callers by the server's API keys; a server without keys answers its own machine alone. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import type { Caller } from "./Caller.ts"
import { HttpRefusal } from "./HttpRefusal.ts"

/** A key and the tenant that it identifies; a tenant may have several. */
export interface ApiKey {
  readonly tenant: string
  readonly key: Redacted.Redacted
}

/** Digests have one length, so that every comparison takes the same time. */
const digest = (key: string) => createHash("sha256").update(key).digest()

const named = /^([A-Za-z0-9][A-Za-z0-9._-]{0,39})=(.+)$/

/**
 * Keys separated by commas, each `<tenant>=<key>` or a key alone, whose tenant is named after its digest.
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

/** An address or this machine's own name, rather than a name that someone else could have pointed here. */
const ownHost = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i

/**
 * Whether this machine's owner asks, and not a web page in a browser here: pages send `Origin` or, where their own name was
 * pointed at this machine, that name as `Host`.
 */
const isLocal = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest) =>
  Option.match(remoteAddress, { onNone: () => true, onSome: isLoopbackAddress })
  && headers["origin"] === undefined
  && ownHost.test(headers["host"] ?? "")

const bearer = /^bearer (.+)$/i

/** Clients of OpenAI send theirs as a bearer token. */
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
