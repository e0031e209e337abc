import * as ApiKeys from "@effect-rl/tinker/server/ApiKeys"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"

/** The caller of a request from `address`, or the status that refuses it. */
const caller = (keys: string, address: string, headers: Record<string, string> = { host: "localhost:8000" }) => {
  const request = HttpServerRequest.fromWeb(new Request("http://server/", { headers }))
  return ApiKeys.identify(ApiKeys.parse(keys)).pipe(
    Effect.provideService(
      HttpServerRequest.HttpServerRequest,
      request.modify({ remoteAddress: Option.some(address) })
    ),
    Effect.match({ onSuccess: ({ tenant }) => tenant ?? "this machine", onFailure: ({ status }) => status })
  )
}

describe("ApiKeys", () => {
  it.effect.each(["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])(
    "without keys %s is let in",
    (address) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* caller("", address), "this machine")
      })
  )

  it.effect.each(["10.0.0.2", "192.168.127.1", "::ffff:10.0.0.2", "fe80::1", "8.127.0.1"])(
    "without keys %s is not let in",
    (address) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* caller("", address), 403)
      })
  )

  it.effect.each(["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000"])(
    "without keys the host %s is this machine",
    (host) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* caller("", "127.0.0.1", { host }), "this machine")
      })
  )

  it.effect.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8000", ""])(
    "without keys the host \"%s\" is a name that was pointed at this machine, and is refused",
    (host) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* caller("", "127.0.0.1", { host }), 403)
      })
  )

  it.effect("with keys a key identifies its tenant, from any address", () =>
    Effect.gen(function*() {
      const keys = "alice=tml-one, alice=tml-two , bob=tml-three"
      assert.strictEqual(yield* caller(keys, "10.0.0.2", { "x-api-key": "tml-one" }), "alice")
      assert.strictEqual(yield* caller(keys, "10.0.0.2", { "x-api-key": "tml-two" }), "alice")
      assert.strictEqual(yield* caller(keys, "10.0.0.2", { "x-api-key": "tml-three" }), "bob")
      assert.strictEqual(yield* caller(keys, "127.0.0.1", { "x-api-key": "alice=tml-one" }), 401)
      assert.strictEqual(yield* caller(keys, "127.0.0.1"), 401)
    }))

  it("derives the names of tenants from the digests of keys without names", () => {
    const [one, other] = ApiKeys.parse("tml-one,,tml-other")
    assert.match(one?.tenant ?? "", /^key-[0-9a-f]{12}$/)
    assert.notStrictEqual(one?.tenant, other?.tenant)
    assert.strictEqual(one === undefined ? "" : Redacted.value(one.key), "tml-one")
  })
})
