import * as ApiKeys from "@effect-rl/tinker/server/ApiKeys"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted, Result } from "effect"
import { HttpServerRequest } from "effect/http"

/** The status of what comes from `address`, or nothing where it is let in. */
const status = (keys: ReadonlyArray<string>, address: string, headers: Record<string, string> = {}) => {
  const request = HttpServerRequest.fromWeb(new Request("http://server/", { headers }))
  return ApiKeys.check(keys.map((key) => Redacted.make(key))).pipe(
    Effect.provideService(
      HttpServerRequest.HttpServerRequest,
      request.modify({ remoteAddress: Option.some(address) })
    ),
    Effect.result,
    Effect.map(Result.match({ onSuccess: () => undefined, onFailure: ({ status }) => status }))
  )
}

describe("ApiKeys", () => {
  it.effect.each(["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])(
    "without keys %s is let in",
    (address) =>
      Effect.gen(function*() {
        assert.isUndefined(yield* status([], address))
      })
  )

  it.effect.each(["10.0.0.2", "192.168.127.1", "::ffff:10.0.0.2", "fe80::1", "8.127.0.1"])(
    "without keys %s is not",
    (address) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* status([], address), 403)
      })
  )

  it.effect("with keys a key lets in, from wherever", () =>
    Effect.gen(function*() {
      const keys = ["tml-one", "tml-two"]
      assert.isUndefined(yield* status(keys, "10.0.0.2", { "x-api-key": "tml-two" }))
      assert.strictEqual(yield* status(keys, "127.0.0.1", { "x-api-key": "tml-three" }), 401)
      assert.strictEqual(yield* status(keys, "127.0.0.1"), 401)
    }))
})
