/** Limits on how much may be open at once, reached by requests. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "./Api.ts"
import * as Pipeline from "./Pipeline.ts"

describe("a tenant with 10,000 sessions", () => {
  layer(Api.server({ apiKeys: Api.keys("alice=tml-alice,bob=tml-bob") }))((it) => {
    it.effect("is asked to finish some before it begins another, and other tenants begin theirs", () =>
      Effect.gen(function*() {
        const [alice, bob] = [{ "x-api-key": "tml-alice" }, { "x-api-key": "tml-bob" }]
        const first = yield* Api.post("/create_session", {}, alice)
        const statuses = yield* Pipeline.post(9999, "/create_session", {}, alice)
        assert.lengthOf(statuses, 9999)
        assert.deepStrictEqual([...new Set(statuses)], [200])
        const { body, headers, status } = yield* Api.post("/create_session", {}, alice)
        assert.strictEqual(status, 429)
        assert.strictEqual(body["detail"], "10000 sessions are open: finish some")
        assert.strictEqual(headers["retry-after"], "60")
        assert.strictEqual((yield* Api.post("/create_session", {}, bob)).status, 200)
        yield* Api.post(`/sessions/${String(first.body["session_id"])}/finish`, {}, alice)
        assert.strictEqual((yield* Api.post("/create_session", {}, alice)).status, 200)
      }))
  })
})
