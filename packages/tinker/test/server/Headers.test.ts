/** Contradictory headers, which no ordinary client sends: a request has one tenant or none. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "./Api.ts"
import * as Pipeline from "./Pipeline.ts"

const [alice, bob] = [{ "x-api-key": "tml-alice" }, { "x-api-key": "tml-bob" }]

const session = (headers: Readonly<Record<string, string>>) =>
  Effect.map(Api.post("/create_session", {}, headers), ({ body }) => String(body["session_id"]))

/** The answer to a request with these header lines. */
const answer = (target: string, lines: ReadonlyArray<string>) =>
  Pipeline.exchange([`GET ${target} HTTP/1.1`, ...lines, "Connection: close", "", ""].join("\r\n"))

const host = "Host: localhost"
const twoKeys = ["X-API-Key: tml-alice", "X-API-Key: tml-bob"]

describe("a server with keys, for a request", () => {
  layer(Api.server({ apiKeys: Api.keys("alice=tml-alice,bob=tml-bob") }))((it) => {
    /** Whose sessions a request with these header lines sees: the tenants with a session in the answer, or the status. */
    const shown = Effect.fnUntraced(function*(lines: ReadonlyArray<string>, target = "/api/v1/sessions") {
      const sessions = { alice: yield* session(alice), bob: yield* session(bob) }
      const text = yield* answer(target, lines)
      const found = Object.entries(sessions).flatMap(([tenant, id]) => text.includes(id) ? [tenant] : [])
      return found.length === 0 ? Pipeline.statuses(text) : found
    })

    it.effect.each<readonly [string, ReadonlyArray<string>, ReadonlyArray<string | number>]>([
      ["with one key shows the sessions of its tenant", [host, "X-API-Key: tml-alice"], ["alice"]],
      ["with two keys of two tenants shows nothing", [host, ...twoKeys], [401]],
      ["with the same two keys in the other order shows nothing", [host, ...twoKeys.toReversed()], [401]],
      ["with one key twice shows nothing", [host, "X-API-Key: tml-bob", "x-api-key: tml-bob"], [401]],
      ["with two keys in one line shows nothing", [host, "X-API-Key: tml-alice, tml-bob"], [401]],
      ["with one tenant's key and another tenant's bearer token shows the sessions of the key's tenant", [
        host,
        "Authorization: Bearer tml-bob",
        "X-API-Key: tml-alice"
      ], ["alice"]],
      ["with an invalid key and a bearer token shows nothing", [
        host,
        "X-API-Key: tml-nobody",
        "Authorization: Bearer tml-bob"
      ], [401]],
      ["with an empty key and a bearer token shows nothing", [host, "X-API-Key:", "Authorization: Bearer tml-bob"], [
        401
      ]],
      ["with two bearer tokens shows the sessions of the first", [
        host,
        "Authorization: Bearer tml-bob",
        "Authorization: Bearer tml-alice"
      ], ["bob"]],
      ["with two schemes of authorization in one line shows nothing", [
        host,
        "Authorization: Basic YQ==, Bearer tml-bob"
      ], [401]],
      ["with a key in a header of a similar name shows nothing", [host, "X_API_Key: tml-alice"], [401]],
      ["with a key that continues on the next line answers 400, since that is not HTTP", [
        host,
        "X-API-Key: tml-",
        " alice"
      ], [
        400
      ]],
      ["with a blank before the colon answers 400, since that is not HTTP", [host, "X-API-Key : tml-alice"], [400]],
      ["with two lengths answers 400, since that is not HTTP", [
        host,
        "X-API-Key: tml-alice",
        "Content-Length: 0",
        "Content-Length: 5"
      ], [400]],
      ["with a length and a chunked body answers 400, since that is not HTTP", [
        host,
        "X-API-Key: tml-alice",
        "Content-Length: 5",
        "Transfer-Encoding: chunked"
      ], [400]],
      ["without a host answers 400, since that is not HTTP", ["X-API-Key: tml-alice"], [400]]
    ])("%s", ([, lines, expected]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* shown(lines), expected)
      }))

    it.effect("with a key only in its URL, shows nothing", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* shown([host], "/api/v1/sessions?x-api-key=tml-alice"), [401])
      }))
  })
})

describe("a server without keys, for a request", () => {
  layer(Api.server())((it) => {
    it.effect.each<readonly [string, ReadonlyArray<string>, number]>([
      ["with its own host name answers", [host], 200],
      ["with another host name refuses", ["Host: evil.example"], 403],
      ["with another host name and then its own refuses", ["Host: evil.example", host], 403],
      [
        "of a page refuses, whatever forwarded it",
        [host, "Origin: http://localhost", "X-Forwarded-For: 127.0.0.1"],
        403
      ],
      ["with an empty origin refuses", [host, "Origin:"], 403]
    ])("%s", ([, lines, expected]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(Pipeline.statuses(yield* answer("/api/v1/sessions", lines)), [expected])
      }))
  })
})
