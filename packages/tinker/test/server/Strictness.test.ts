import * as Strictness from "@effect-rl/tinker/server/Strictness"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as Api from "./Api.ts"

const logging = <A, E, R>(use: Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  return Effect.as(Effect.provide(use, Logger.layer([logger])), lines)
}

describe("what a server does not read", () => {
  it.effect("is said once in the log", () =>
    Effect.gen(function*() {
      const { unread } = Strictness.make(false)
      const lines = yield* logging(Effect.andThen(unread("colour"), unread("colour")))
      assert.deepStrictEqual(lines, ["a request has what this server ignores: colour"])
    }))

  it.effect("is refused by a strict server, with the source of the rule", () =>
    Effect.gen(function*() {
      const refusal = yield* Effect.flip(Strictness.make(true).unread("colour"))
      assert.strictEqual(refusal.status, 422)
      assert.match(refusal.detail, /^colour \(strict: tinker 0\.38\.0, .*StrictBase/)
    }))

  it.effect("only likely to be refused by the hosted service is a warning on a strict server, and nothing on another", () =>
    Effect.gen(function*() {
      const rule = { detail: "a long name", source: undefined }
      assert.deepStrictEqual(yield* logging(Strictness.make(true).check(false, rule)), [
        "the hosted service may refuse this: a long name"
      ])
      assert.deepStrictEqual(yield* logging(Strictness.make(false).check(false, rule)), [])
    }))
})

describe("a strict server", () => {
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
  })
})
