/** An hour of virtual time with sessions that are opened, used, and then abandoned or finished. */
import { LeakAudit } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, References } from "effect"
import { TestClock } from "effect/testing"
import * as Api from "../server/Api.ts"

const minutes = 60

const held = Effect.flatMap(LeakAudit.LeakAudit, ({ counts }) => Effect.map(counts, LeakAudit.live))

/** The run of one minute; each request must be answered. */
const run = Effect.fnUntraced(function*(minute: number) {
  const { model_id, session_id } = yield* Api.model
  const promises = [
    yield* Api.pass(model_id, 1, [1, 2]),
    yield* Api.step(model_id, 2),
    yield* Api.saveForSampler(model_id, 3),
    yield* Api.post("/save_weights", { model_id, seq_id: 4, path: "last", ttl_seconds: 600 })
  ]
  const sampler = yield* Api.sampler(session_id, 1)
  for (let seq_id = 0; seq_id < 4; seq_id++) promises.push(yield* Api.sample(sampler, seq_id))
  const given = yield* Api.sample(sampler, 9)
  yield* Api.post("/cancel_future", { request_id: given.body["request_id"] })
  const answers = yield* Effect.forEach(promises, Api.result)
  // Every other client leaves without finishing its session.
  if (minute % 2 === 0) yield* Api.post(`/sessions/${session_id}/finish`, {})
  return answers.filter((answer) => "error" in answer)
})

describe("a server over an hour", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("answers every request, and keeps nothing of clients that are gone", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* Effect.gen(function*() {
          for (let minute = 0; minute < minutes; minute++) {
            assert.deepStrictEqual(yield* run(minute), [], `minute ${minute}`)
            yield* TestClock.adjust("1 minute")
            const { SamplingClient = 0, TrainingClient = 0 } = yield* held
            assert.isAtMost(TrainingClient, 4)
            assert.isAtMost(SamplingClient, 8)
          }
          const left = Effect.map(
            fs.readDirectory(folder, { recursive: true }),
            (files) => files.filter((file) => file.endsWith("last.json"))
          )
          yield* TestClock.adjust("12 minutes")
          // Files are removed between two minutes of the test clock, but removing them takes real time.
          for (let minute = 0; minute < 1000 && (yield* left).length > 0; minute++) {
            yield* TestClock.adjust("1 minute")
            yield* Api.get("/checkpoints")
          }
          assert.deepStrictEqual(yield* left, [])
          assert.deepStrictEqual((yield* Api.get("/checkpoints")).body["checkpoints"], [])
          assert.deepStrictEqual(yield* held, {})
        }).pipe(Effect.provide(Api.server({ folder })))
      }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))
  })
})
