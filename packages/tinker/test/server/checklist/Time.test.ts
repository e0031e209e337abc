/** What API clients rely on as time passes, one numbered requirement per test. Each test has its own server and clock. */
import { LeakAudit } from "@effect-rl/core/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Array, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Api from "../Api.ts"

describe("the server", () => {
  layer(Api.server())((it) => {
    it.effect("8. holds a poll for 30 s and then asks to try again", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const waiting = yield* Api.step(model_id, 2)
        const poll = yield* Effect.forkChild(Api.poll(waiting), { startImmediately: true })
        // By the time this many other requests have been answered, the poll has arrived.
        while (poll.pollUnsafe() === undefined) {
          yield* Api.get("/healthz")
          yield* TestClock.adjust("1 second")
        }
        const { body, status } = yield* Fiber.join(poll)
        assert.strictEqual(status, 408)
        assert.deepInclude(body, { type: "try_again", queue_state: "active" })
        yield* Api.result(yield* Api.step(model_id, 1))
        assert.property(yield* Api.result(waiting), "metrics")
      }))
  })

  layer(Api.server())((it) => {
    it.effect("12. returns a result as often as requested, and reports when it is no longer kept", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const step = yield* Api.step(model_id, 1)
        const first = yield* Api.result(step)
        for (const _ of Array.range(1, 4)) {
          yield* TestClock.adjust("9 minutes")
          assert.deepStrictEqual(yield* Api.result(step), first)
        }
        yield* TestClock.adjust("11 minutes")
        assert.strictEqual((yield* Api.poll(step)).status, 410)
        assert.strictEqual((yield* Api.post("/retrieve_future", { request_id: "nobody's" })).status, 404)
      }))
  })

  layer(Api.server({ samplesPerMinute: 2 }))((it) => {
    it.effect("13. asks clients to slow down only for sampling requests", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const sampler = yield* Api.sampler(session_id)
        const answers = yield* Effect.forEach([0, 1, 2], (seq_id) => Api.sample(sampler, seq_id))
        assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 429])
        assert.strictEqual(answers[2]?.headers["retry-after"], "30")
        for (let seq_id = 1; seq_id < 5; seq_id++) assert.strictEqual((yield* Api.step(model_id, seq_id)).status, 200)
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual((yield* Api.sample(sampler, 2)).status, 200)
      }))
  })

  layer(Api.server())((it) => {
    it.effect("16. ends a session that is silent for five minutes, and frees its resources", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        yield* Api.result(yield* Api.saveForSampler(model_id, 1))
        const audit = yield* LeakAudit.LeakAudit
        assert.deepStrictEqual(LeakAudit.live(yield* audit.counts), { TrainingClient: 1, SamplingClient: 1 })
        yield* TestClock.adjust("4 minutes")
        assert.strictEqual((yield* Api.post("/session_heartbeat", { session_id })).status, 200)
        yield* TestClock.adjust("4 minutes")
        assert.strictEqual((yield* Api.post("/get_info", { model_id })).status, 200)
        yield* TestClock.adjust("6 minutes")
        assert.strictEqual((yield* Api.post("/get_info", { model_id })).status, 404)
        assert.deepStrictEqual(LeakAudit.live(yield* audit.counts), {})
      }))
  })
})
