/** Lets in requests that carry one of the server's keys. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import { Refusal } from "./Refusal.ts"

/** Digests have one length, so that comparing them takes one time. */
const digest = (key: string) => createHash("sha256").update(key).digest()

const unauthorized = new Refusal({ status: 401, detail: "X-API-Key is missing or none of this server's keys" })

/** Nothing where there are no keys. */
export const check = (
  keys: ReadonlyArray<Redacted.Redacted>
): Effect.Effect<void, Refusal, HttpServerRequest.HttpServerRequest> => {
  const digests = keys.map((key) => digest(Redacted.value(key)))
  return digests.length === 0
    ? Effect.void
    : Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      const given = digest(headers["x-api-key"] ?? "")
      const matches = digests.filter((one) => timingSafeEqual(one, given))
      return matches.length > 0 ? Effect.void : Effect.fail(unauthorized)
    })
}
