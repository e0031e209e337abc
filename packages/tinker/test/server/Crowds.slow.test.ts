/** Limits on open sessions and requests, reached by real requests. */
import type { Script } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as Api from "./Api.ts"
import * as Pipeline from "./Pipeline.ts"

const every = (statuses: ReadonlyArray<number>, count: number) => {
  assert.lengthOf(statuses, count)
  assert.deepStrictEqual([...new Set(statuses)], [200])
}

describe("a tenant with 10,000 sessions", () => {
  layer(Api.server({ apiKeys: Api.keys("alice=tml-alice,bob=tml-bob") }))((it) => {
    it.effect("is asked to finish some before it opens another, while other tenants can open theirs", () =>
      Effect.gen(function*() {
        const [alice, bob] = [{ "x-api-key": "tml-alice" }, { "x-api-key": "tml-bob" }]
        const first = yield* Api.post("/create_session", {}, alice)
        every(yield* Pipeline.post(9999, "/create_session", {}, alice), 9999)
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

describe("a server with 20,000 requests in progress", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("asks clients to sample later, and completes what it has accepted", () =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const script: Script.Script = {
          sample: () => Effect.as(Deferred.await(gate), { sequences: [] })
        }
        yield* Effect.gen(function*() {
          const sampling_session_id = yield* Api.sampler(yield* Api.session)
          const request = {
            sampling_session_id,
            prompt: { chunks: [{ tokens: [1] }] },
            sampling_params: { max_tokens: 1 }
          }
          const first = yield* Api.post("/asample", request)
          every(yield* Pipeline.post(19_999, "/asample", request), 19_999)
          const { body, headers, status } = yield* Api.post("/asample", request)
          assert.strictEqual(status, 429)
          assert.strictEqual(body["detail"], "20000 requests are waiting: try again later")
          assert.strictEqual(headers["retry-after"], "1")
          yield* Deferred.succeed(gate, undefined)
          assert.deepStrictEqual((yield* Api.result(first))["sequences"], [])
        }).pipe(Effect.ensuring(Deferred.succeed(gate, undefined)), Effect.provide(Api.server({ script })))
      }))
  })
})
