import { AdaptiveLimiter, type ModelInput, Rl, RunRecord, RunStore, TinkerError } from "@effect-rl/core"
import { Call, Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import * as Scripted from "../rollout/Scripted.ts"
import * as Task from "./Task.ts"

type Kl = NonNullable<NonNullable<Rl.Options["update"]>["kl"]>

const run = (kl: Kl, iterations = 1, maxTokensTotal?: number) =>
  Stream.unwrap(Effect.map(
    Task.options({
      update: { kl },
      run: { iterations, ...(maxTokensTotal === undefined ? {} : { maxTokensTotal }) }
    }),
    (options) => Rl.run(options)
  )).pipe(Stream.runCollect)

const updated = (records: ReadonlyArray<RunRecord.RunRecord>) => records.find(RunRecord.guards.Updated)

/** Every token at −1, where the scripted policy says −0.5. */
const less = (prompt: ModelInput.ModelInput) => new Float32Array(prompt.length).fill(-1)

const scripted = Task.layer({ sample: Task.answersHalf, computeLogprobs: less })

const fresh = Effect.provide(RunStore.RunStore.layerMemory, { local: true })

describe("A run with a KL penalty", () => {
  it.effect("measures its divergence from the base model, which is part of its identity", () =>
    Effect.gen(function*() {
      const records = yield* run({ coefficient: 0.5 })
      assert.strictEqual(updated(records)?.metrics["kl_policy_base"], 0.5)
      assert.deepStrictEqual(records.find(RunRecord.guards.Opened)?.identity["kl"], {
        coefficient: 0.5,
        discount: 0,
        reference: Script.defaultModel
      })
      assert.include(yield* Task.trace, `create_sampling_client(${Script.defaultModel})`)
    }).pipe(Effect.provide(scripted)))

  it.effect("is not resumed with another coefficient or another reference", () =>
    Effect.gen(function*() {
      yield* run({ coefficient: 0.5 }, 1)
      const reference = "scripted://model-0/sampler_weights/final"
      for (const kl of [{ coefficient: 0.1 }, { coefficient: 0.5, reference }, {}]) {
        const { message } = yield* Effect.flip(run(kl, 2))
        assert.include(message, "kl")
      }
    }).pipe(Effect.provide(scripted)))

  it.effect("pays for what the reference reads", () =>
    Effect.gen(function*() {
      const without = updated(yield* fresh(run({})))?.spent
      const withPenalty = updated(yield* fresh(run({ coefficient: 0.5 })))?.spent
      // Each of the 8 datums is read whole: its input and the last of its targets.
      const read = (without?.trained ?? NaN) + 8
      assert.strictEqual(withPenalty?.prefilled, (without?.prefilled ?? NaN) + read)
    }).pipe(Effect.provide(scripted)))

  it.effect("waits for its turn at the limiter, and asks the reference again where the backend turns it away", () =>
    Effect.gen(function*() {
      const turnsAway = Fault.fail(new TinkerError.RateLimited({ retryAfterMillis: 1000 }))
      const limiter = yield* AdaptiveLimiter.make
      const records = yield* run({ coefficient: 0.5 }).pipe(
        Effect.provideService(AdaptiveLimiter.AdaptiveLimiter, limiter),
        Effect.provide(Task.layer({
          sample: Task.answersHalf,
          computeLogprobs: less,
          faults: [Fault.call("ComputeLogprobs", 3, turnsAway)]
        })),
        Scripted.inTime
      )
      assert.strictEqual(updated(records)?.metrics["kl_policy_base"], 0.5)
      const { inUse, lastRateLimited } = yield* limiter.state
      assert.deepStrictEqual([inUse, Option.isSome(lastRateLimited)], [0, true])
    }))

  it.effect("ends where the reference does not fit its budget", () =>
    Effect.gen(function*() {
      const { prefilled, sampled } = updated(yield* fresh(run({})))?.spent ?? assert.fail()
      const records = yield* run({ coefficient: 0.5 }, 1, prefilled + sampled + 30)
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "max_tokens_total", iteration: 0 })
    }).pipe(Effect.provide(scripted)))

  it.effect("is refused before anything is sampled where the backend gives no log-probabilities of prompts", () =>
    Effect.gen(function*() {
      for (const kl of [{ coefficient: 0.5 }, { postUpdate: true }]) {
        const error = yield* Effect.flip(run(kl))
        assert.strictEqual(error instanceof TinkerError.TinkerError && error.reason._tag, "Unsupported")
      }
      assert.deepStrictEqual(yield* Task.trace, [])
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      models: { [Script.defaultModel]: { promptLogprobs: false, topkPromptLogprobs: 0 } }
    }))))

  it.effect("is refused before anything is sampled where the backend does not have the reference", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run({ coefficient: 0.5, reference: "scripted://elsewhere/weights" }))
      assert.strictEqual(error instanceof TinkerError.TinkerError && error.reason._tag, "NotFound")
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.isFalse(calls.some(({ _tag }) => _tag === "Sample"))
    }).pipe(Effect.provide(scripted)))

  it.effect("names the setting that is wrong", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run({ coefficient: -1 }))
      assert.strictEqual("field" in error && error.field, "update.kl.coefficient")
      for (const [field, kl] of [["reference", { reference: "elsewhere" }], ["discount", { discount: 0.9 }]] as const) {
        const { message } = yield* Effect.flip(run(kl))
        assert.include(message, `update.kl.${field} is ${kl[field]}, expected left out where there is no KL penalty`)
      }
    }).pipe(Effect.provide(scripted)))
})

describe("After an update", () => {
  it.effect("a run says how far it moved on its own data, where asked to", () =>
    Effect.gen(function*() {
      const metrics = updated(yield* run({ postUpdate: true }))?.metrics
      assert.deepInclude(metrics, { kl_pre_post_v1: 0.5, kl_pre_post_v2: 0.125 })
      assert.notProperty(metrics, "kl_policy_base")
    }).pipe(Effect.provide(scripted)))

  it.effect("measuring is given up where the budget ends", () =>
    Effect.gen(function*() {
      const { prefilled, sampled, trained } = updated(yield* fresh(run({})))?.spent ?? assert.fail()
      const records = yield* run({ postUpdate: true }, 1, prefilled + sampled + trained + 1)
      assert.notProperty(updated(records)?.metrics, "kl_pre_post_v1")
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "max_tokens_total", iteration: 1 })
    }).pipe(Effect.provide(scripted)))
})
