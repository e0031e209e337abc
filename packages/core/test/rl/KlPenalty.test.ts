import { Loss, Pace, Rl, RunRecord, RunStore, TinkerError } from "@effect-rl/core"
import { AdaptiveLimiter, type ModelInput } from "@effect-rl/core/backend"
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

/** Log-probability −1 for every token, while the scripted policy returns −0.5. */
const less = (prompt: ModelInput.ModelInput) => new Float32Array(prompt.length).fill(-1)

const scripted = Task.layer({ sample: Task.answersHalf, computeLogprobs: less })

const fresh = Effect.provide(RunStore.RunStore.layerMemory, { local: true })

describe("a run with a KL penalty", () => {
  it.effect("measures its divergence from the base model; the penalty is part of its identity", () =>
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

  /** A reference whose log-probabilities differ between positions. */
  const uneven = (prompt: ModelInput.ModelInput) => Float32Array.from({ length: prompt.length }, (_, t) => -(t % 3))

  const paces = {
    synchronous: Pace.synchronous,
    "async, K = 0": Pace.async({ maxStepsOffPolicy: 0 }),
    "async, K = 1": Pace.async({ maxStepsOffPolicy: 1 })
  }

  it.effect.each(Object.entries(paces))(
    "also trains on solved and failed groups: %s",
    ([, pace]) =>
      Effect.gen(function*() {
        const options = yield* Task.options({
          update: { kl: { coefficient: 0.5 }, substeps: 2 },
          run: { iterations: 1 }
        })
        const records = yield* Stream.runCollect(
          Rl.run({ ...options, pace, update: { ...options.update, loss: Loss.ppo() } })
        )
        const { datums, groups } = records.find(RunRecord.guards.Credited) ?? assert.fail("nothing is credited")
        assert.deepStrictEqual(
          groups.map(({ advantages, verdict }) => [verdict, advantages]),
          Array(2).fill(["informative", [0, 0, 0, 0]])
        )
        assert.deepStrictEqual(datums.map(({ member, update }) => [member, update]), [
          [0, 0],
          [1, 0],
          [2, 0],
          [3, 0],
          [0, 1],
          [1, 1],
          [2, 1],
          [3, 1]
        ])
        const { metrics, updates } = updated(records) ?? assert.fail("nothing is updated")
        assert.lengthOf(updates, 2)
        assert.deepInclude(metrics, {
          "groups/informative": 0,
          "groups/all_bad": 2,
          "train/groups": 2,
          "train/discarded_groups": 0,
          "optim/datums": 8
        })
        assert.isDefined(metrics["kl_policy_base"])
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersNone, computeLogprobs: uneven })))
  )

  it.effect("omits groups with equal rewards if dynamic sampling replaces them", () =>
    Effect.gen(function*() {
      const dynamic = { minInformative: 2, maxBatches: 100 }
      const options = yield* Task.options({ update: { kl: { coefficient: 0.5 } }, run: { iterations: 1 } })
      const records = yield* Stream.runCollect(Rl.run({ ...options, rollout: { ...options.rollout, dynamic } }))
      assert.deepStrictEqual(updated(records)?.updates ?? [], [])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersNone, computeLogprobs: uneven }))))

  it.effect("is not resumed with another coefficient or reference", () =>
    Effect.gen(function*() {
      yield* run({ coefficient: 0.5 }, 1)
      const reference = "scripted://model-0/sampler_weights/final"
      for (const kl of [{ coefficient: 0.1 }, { coefficient: 0.5, reference }, {}]) {
        const { message } = yield* Effect.flip(run(kl, 2))
        assert.include(message, "kl")
      }
    }).pipe(Effect.provide(scripted)))

  it.effect("counts the tokens that the reference reads", () =>
    Effect.gen(function*() {
      const without = updated(yield* fresh(run({})))?.spent
      const withPenalty = updated(yield* fresh(run({ coefficient: 0.5 })))?.spent
      // Each of the 8 datums is read completely: its input and its last target.
      const read = (without?.trained ?? NaN) + 8
      assert.strictEqual(withPenalty?.prefilled, (without?.prefilled ?? NaN) + read)
    }).pipe(Effect.provide(scripted)))

  it.effect("waits at the limiter, and asks the reference again after a rejection", () =>
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

  it.effect("ends if the reference exceeds its budget", () =>
    Effect.gen(function*() {
      const { prefilled, sampled } = updated(yield* fresh(run({})))?.spent ?? assert.fail()
      const records = yield* run({ coefficient: 0.5 }, 1, prefilled + sampled + 30)
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "max_tokens_total", iteration: 0 })
    }).pipe(Effect.provide(scripted)))

  it.effect("is refused before sampling if the backend has no prompt log-probabilities", () =>
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

  it.effect("is refused before sampling if the backend does not have the reference", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run({ coefficient: 0.5, reference: "scripted://elsewhere/weights" }))
      assert.strictEqual(error instanceof TinkerError.TinkerError && error.reason._tag, "NotFound")
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.isFalse(calls.some(({ _tag }) => _tag === "Sample"))
    }).pipe(Effect.provide(scripted)))

  it.effect("refuses a negative coefficient, and a reference or discount without a penalty, by field", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run({ coefficient: -1 }))
      assert.strictEqual("field" in error && error.field, "update.kl.coefficient")
      for (const [field, kl] of [["reference", { reference: "elsewhere" }], ["discount", { discount: 0.9 }]] as const) {
        const { message } = yield* Effect.flip(run(kl))
        assert.include(message, `update.kl.${field} is ${kl[field]}, expected left out if there is no KL penalty`)
      }
    }).pipe(Effect.provide(scripted)))
})

describe("the divergence of an update on its own data", () => {
  it.effect("is reported if postUpdate is set", () =>
    Effect.gen(function*() {
      const metrics = updated(yield* run({ postUpdate: true }))?.metrics
      assert.deepInclude(metrics, { kl_pre_post_v1: 0.5, kl_pre_post_v2: 0.125 })
      assert.notProperty(metrics, "kl_policy_base")
    }).pipe(Effect.provide(scripted)))

  it.effect("is not measured if that exceeds the budget", () =>
    Effect.gen(function*() {
      const { prefilled, sampled, trained } = updated(yield* fresh(run({})))?.spent ?? assert.fail()
      const records = yield* run({ postUpdate: true }, 1, prefilled + sampled + trained + 1)
      assert.notProperty(updated(records)?.metrics, "kl_pre_post_v1")
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "max_tokens_total", iteration: 1 })
    }).pipe(Effect.provide(scripted)))
})
