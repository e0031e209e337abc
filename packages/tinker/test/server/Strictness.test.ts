import * as Strictness from "@effect-rl/tinker/server/Strictness"
import * as StrictRules from "@effect-rl/tinker/server/StrictRules"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Api from "./Api.ts"

describe("strictness", () => {
  it.effect("logs a field that the server does not read once", () =>
    Effect.gen(function*() {
      const { unread } = Strictness.make(false)
      const lines = yield* Api.logged(Effect.andThen(unread("colour"), unread("colour")))
      assert.deepStrictEqual(lines, ["a request has a field that this server ignores: colour"])
    }))

  it.effect("logs only the beginning of a long field name", () =>
    Effect.gen(function*() {
      const [line = ""] = yield* Api.logged(Strictness.make(false).unread("x".repeat(1_000_000)))
      assert.lengthOf(line, 300)
    }))

  it.effect("refuses an unread field on a strict server, citing the source of the rule", () =>
    Effect.gen(function*() {
      const refusal = yield* Effect.flip(Strictness.make(true).unread("colour"))
      assert.strictEqual(refusal.status, 422)
      assert.match(refusal.detail, /^colour \(strict: tinker 0\.38\.0, .*StrictBase/)
    }))

  it.effect("refuses a breach of a rule with a public source, and accepts a breach of any other rule", () =>
    Effect.gen(function*() {
      const rules = [
        StrictRules.loadedLate(2),
        StrictRules.shortLived(60),
        StrictRules.trainedFromSampler("a"),
        StrictRules.sampledFromState("a")
      ]
      assert.lengthOf(rules, Object.keys(StrictRules).length)
      for (const { detail, source } of rules) {
        const checked = yield* Effect.result(Strictness.make(true).check(false, { detail, source }))
        if (source === undefined) assert.isTrue(Result.isSuccess(checked), detail)
        else {
          assert.match(source, /^(tinker \d|tinker-docs\.)/)
          assert.strictEqual(Result.isFailure(checked) ? checked.failure.detail : "", `${detail} (strict: ${source})`)
        }
      }
    }))

  it.effect("warns on a strict server of what the hosted service may refuse, and is silent on other servers", () =>
    Effect.gen(function*() {
      const rule = { detail: "a long name", source: undefined }
      assert.deepStrictEqual(yield* Api.logged(Strictness.make(true).check(false, rule)), [
        "the hosted service may refuse this: a long name"
      ])
      assert.deepStrictEqual(yield* Api.logged(Strictness.make(false).check(false, rule)), [])
    }))
})

describe("a strict server", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("warns about a sampler of a training state, which the hosted service may refuse", () =>
      Effect.gen(function*() {
        const lines = yield* Api.logged(
          Effect.gen(function*() {
            const { model_id, session_id } = yield* Api.model
            const { path } = yield* Api.saved(model_id, 1, "state")
            const sampler = { session_id, sampling_session_seq_id: 0, model_path: path }
            assert.strictEqual((yield* Api.post("/create_sampling_session", sampler)).status, 200)
            return path
          }).pipe(Effect.provide(Api.server({ strict: true })))
        )
        assert.lengthOf(lines, 1)
        assert.match(lines[0] ?? "", /^the hosted service may refuse this: model_path is ".*weights\/state"/)
      }))
  })

  layer(Api.server({ strict: true }))((it) => {
    it.effect("refuses unknown keys by name", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const step = yield* Api.post("/optim_step", {
          model_id,
          seq_id: 1,
          adam_params: { learning_rate: 1, nesterov: true }
        })
        assert.strictEqual(step.status, 422)
        assert.include(String(step.body["detail"]), "nesterov")
        assert.property(yield* Api.result(yield* Api.step(model_id, 2)), "metrics")
      }))

    it.effect("loads a state only into a new model, and cites the source", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const { path } = yield* Api.saved(model_id, 1, "state")
        const late = yield* Effect.flatMap(Api.post("/load_weights", { model_id, seq_id: 2, path }), Api.result)
        assert.include(String(late["error"]), "load_weights has seq_id 2, expected 1")
        assert.include(String(late["error"]), "types/load_weights_request.py")
        const promise = yield* Api.createModel(session_id, { model_seq_id: 1 })
        const fresh = String((yield* Api.result(promise))["model_id"])
        const loaded = yield* Effect.flatMap(
          Api.post("/load_weights", { model_id: fresh, seq_id: 1, path }),
          Api.result
        )
        assert.strictEqual(loaded["path"], path)
      }))

    it.effect("keeps no checkpoint for less than an hour", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const { error } = yield* Api.saved(model_id, 1, "minute", { ttl_seconds: 60 })
        assert.include(String(error), "ttl_seconds is 60, expected 3600 to 315360000 (strict: tinker 0.38.0")
        const { path } = yield* Api.saved(model_id, 2, "hour", { ttl_seconds: 3600 })
        assert.strictEqual(path, `tinker://${model_id}/weights/hour`)
      }))

    it.effect("trains only from states, but samples from them too", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const saved = yield* Effect.flatMap(Api.saveForSampler(model_id, 1, { path: "for-sampling" }), Api.result)
        const refused = yield* Api.post("/load_weights", { session_id, model_seq_id: 1, path: saved["path"] })
        assert.strictEqual(refused.status, 422)
        assert.include(
          String(refused.body["detail"]),
          "expected a state of save_state to train from (strict: tinker-docs"
        )
        const late = yield* Api.createModel(session_id, { model_seq_id: 2 })
        const other = String((yield* Api.result(late))["model_id"])
        const into = yield* Api.post("/load_weights", { model_id: other, seq_id: 1, path: saved["path"] })
        assert.include(String((yield* Api.result(into))["error"]), "expected a state of save_state to train from")
        const { path } = yield* Api.saved(model_id, 2, "state")
        const sampler = { session_id, sampling_session_seq_id: 0, model_path: path }
        assert.strictEqual((yield* Api.post("/create_sampling_session", sampler)).status, 200)
      }))
  })
})
