/** What API clients rely on for repeated and reordered requests, one numbered requirement per test. */
import { Script } from "@effect-rl/core/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"

describe("the server", () => {
  layer(Api.server())((it) => {
    it.effect("10. carries out repeated requests once: sessions, models, steps, samplers, snapshots, samples", () =>
      Effect.gen(function*() {
        const create = () => Api.post("/create_session", {}, { "x-idempotency-key": "stainless-python-retry-1" })
        const session_id = (yield* create()).body["session_id"]
        assert.strictEqual((yield* create()).body["session_id"], session_id)
        const twice = <E, R>(key: string, call: () => Effect.Effect<{ readonly body: Api.Body }, E, R>) =>
          Effect.gen(function*() {
            const first = (yield* call()).body[key]
            assert.isString(first)
            assert.strictEqual((yield* call()).body[key], first, key)
          })
        yield* twice("request_id", () => Api.createModel(String(session_id)))
        const { model_id } = yield* Api.model
        yield* twice("request_id", () => Api.step(model_id, 1))
        yield* twice(
          "sampling_session_id",
          () =>
            Api.post("/create_sampling_session", {
              session_id,
              sampling_session_seq_id: 3,
              base_model: Script.defaultModel
            })
        )
        let count = 0
        yield* twice("request_id", () => Api.saveForSampler(model_id, 2, { sampling_session_seq_id: ++count }))
        const sampler = yield* Api.sampler(String(session_id), 4)
        yield* twice("request_id", () => Api.sample(sampler, 9))
      }))

    it.effect("10. refuses a number that was already used for something else", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        yield* Api.step(model_id, 1)
        assert.strictEqual((yield* Api.step(model_id, 1, 5)).status, 409)
        const { path } = yield* Api.saved(model_id, 2, "other")
        yield* Api.sampler(session_id, 1)
        const other = { session_id, sampling_session_seq_id: 1, model_path: path }
        assert.strictEqual((yield* Api.post("/create_sampling_session", other)).status, 409)
      }))

    it.effect("10. gives the next request its turn after a refused one", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        assert.strictEqual((yield* Api.post("/optim_step", { model_id, seq_id: 1, adam_params: 7 })).status, 422)
        const wrong = { ...Api.passBody(model_id, 2, [1, 2]), forward_backward_input: { data: [{}] } }
        assert.strictEqual((yield* Api.post("/forward_backward", wrong)).status, 422)
        const halved = { model_id, seq_id: 3, forward_backward_input: { loss_fn: "ppo", data: [1.5] } }
        assert.strictEqual((yield* Api.post("/forward_backward", halved)).status, 422)
        assert.property(yield* Api.result(yield* Api.step(model_id, 4)), "metrics")
      }))

    it.effect("11. runs requests in the order of their numbers, even if the first chunk of a batch arrives last", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const step = yield* Api.step(model_id, 4)
        const second = yield* Api.pass(model_id, 2, [1, 2])
        const third = yield* Api.pass(model_id, 3, [99_999_999, 2])
        const first = yield* Api.pass(model_id, 1, [1, 2])
        for (const promise of [first, second]) assert.property((yield* Api.result(promise))["metrics"], "loss:sum")
        assert.include(String((yield* Api.result(third))["error"]), "99999999")
        assert.property(yield* Api.result(step), "metrics")
      }))
  })
})
