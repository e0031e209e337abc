/** Lets in requests that carry one of the server's keys; without keys, those of this machine. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import { Refusal } from "./Refusal.ts"

/** Digests have one length, so that comparing them takes one time. */
const digest = (key: string) => createHash("sha256").update(key).digest()

const unauthorized = new Refusal({ status: 401, detail: "X-API-Key is missing or none of this server's keys" })

const foreign = new Refusal({ status: 403, detail: "this server has no API keys and answers its own machine alone" })

const isLoopback = (address: string) => address === "::1" || /^(::ffff:)?127\./.test(address)

/** A web page that a browser on this machine shows is not this machine's owner; only browsers send `Origin`. */
const isLocal = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest) =>
  Option.match(remoteAddress, { onNone: () => true, onSome: isLoopback }) && headers["origin"] === undefined

export const check = (
  keys: ReadonlyArray<Redacted.Redacted>
): Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest> => {
  const digests = keys.map((key) => digest(Redacted.value(key)))
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    if (digests.length === 0) return isLocal(request) ? Effect.void : Effect.fail(foreign)
    const given = digest(request.headers["x-api-key"] ?? "")
    const matches = digests.filter((one) => timingSafeEqual(one, given))
    return matches.length > 0 ? Effect.void : Effect.fail(unauthorized)
  })
}
