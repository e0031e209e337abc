/** A run's budget: the requests to the backend can never have cost more. */
import { Advantage, Credit, Dpo, Message, Preferences, Rl, RunRecord, Tinker } from "@effect-rl/core"
import { PreferenceEvaluator } from "@effect-rl/core/evaluation"
import type { RunOptions } from "@effect-rl/core/program"
import { Call, Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../../rl/Task.ts"

const run = (overrides: Task.Overrides) =>
  Stream.unwrap(Effect.map(Task.options(overrides), (options) => Rl.run(options)))

const lastUsage = Effect.map(Task.current(RunRecord.guards.Saved), (saves) => saves.at(-1)?.usage)

const drop = {
  AcquireFailed: "drop",
  StepFailed: "drop",
  GraderFailed: "drop",
  Ungraded: "drop",
  PolicyFailed: "drop",
  HookFailed: "drop",
  TimedOut: "drop",
  Died: "drop"
} as const

describe("a token limit", () => {
  it.effect.each([1, 64])(
    "that suffices for one group at a time suffices for %i concurrent groups",
    (concurrency) =>
      Effect.gen(function*() {
        const events = yield* Stream.runCollect(run({ rollout: { concurrency }, run: { maxTokensTotal: 900 } }))
        assert.deepInclude(events.at(-1), { _tag: "Finished", reason: "completed" })
        assert.deepStrictEqual(yield* lastUsage, { prefilled: 384, sampled: 32, trained: 400 })
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf })))
  )

  it.effect("counts an interrupted request as its worst case", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ groupSize: 1, run: { iterations: 1 } })
      const onFailure = { retry: Schedule.recurs(0), otherwise: drop }
      const training = Rl.run({ ...options, rollout: { memberTimeout: "1 second", maxDroppedShare: 1, onFailure } })
      const fiber = yield* Effect.forkChild(Stream.runDrain(training))
      yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("1 second")), { times: 50 })
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* lastUsage, { prefilled: 48, sampled: 16, trained: 0 })
    }).pipe(Effect.provide(Task.layer({ faults: [Fault.every("Sample", Fault.slow("1 hour"))] }))))

  it.effect("that is used up ends the run, and another start ends at once without saving", () =>
    Effect.gen(function*() {
      const limited = run({ epochs: 10, run: { maxTokensTotal: 1500, saveEvery: 1 } })
      const first = yield* Stream.runCollect(limited)
      const second = yield* Stream.runCollect(limited)
      const end = first.at(-1)
      assert.isDefined(end)
      assert.deepInclude(second.at(-1), { _tag: "Finished", reason: "max_tokens_total" })
      assert.lengthOf((yield* Task.records).filter(RunRecord.guards.Saved), first.filter(RunRecord.guards.Saved).length)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  /** The number of tokens that forward passes and reference policies have read. */
  const read = Effect.map(Call.CallLog.use(({ calls }) => calls), (calls) =>
    calls.reduce((sum, call) => {
      if (call._tag === "ComputeLogprobs") return sum + call.prompt.length
      return call._tag === "Forward" ? call.data.reduce((count, { modelInput }) => count + modelInput.length, sum) : sum
    }, 0))

  const preferences = (run: RunOptions.RunSettings) =>
    Stream.unwrap(Effect.map(Task.model, (model) => {
      const rows = ["1", "2", "3", "4"].map((answer) => ({
        chosen: [Message.user("one"), Message.assistant(answer)],
        rejected: [Message.user("one"), Message.assistant("0")]
      }))
      const evaluators = [
        PreferenceEvaluator.make({ name: "held-out", dataset: Preferences.pairs(rows, { model, batchSize: 4 }) })
      ]
      return Dpo.run({
        model,
        dataset: Preferences.pairs(rows, { model, batchSize: 2 }),
        run: { evalEvery: 1, ...run, evaluators }
      })
    }))

  it.effect("counts the tokens that evaluators and a reference policy read", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(preferences({}))
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
      const prefilled = yield* read
      assert.isAbove(prefilled, 0)
      assert.strictEqual(records.filter(RunRecord.guards.Evaluated).at(-1)?.spent.prefilled, prefilled)
    }).pipe(Effect.provide(Task.layer())))

  it.effect("that leaves no room for a forward pass ends the run before the pass", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(preferences({ maxTokensTotal: 10 }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 0, reason: "max_tokens_total" })
      assert.strictEqual(yield* read, 0)
    }).pipe(Effect.provide(Task.layer())))

  it.effect("counts the tokens that a KL penalty's reference reads", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const reference = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
      const credit = Credit.klPenalty({ reference, coefficient: 0.1 })(Credit.groupRelative(Advantage.centered))
      const options = yield* Task.options({ run: { iterations: 1 } })
      yield* Stream.runDrain(Rl.run({ ...options, update: { learningRate: 1e-2, credit } }))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const prompts = calls.reduce((sum, call) => call._tag === "Sample" ? sum + call.request.prompt.length : sum, 0)
      const compared = yield* read
      assert.isAbove(compared, 0)
      assert.strictEqual((yield* lastUsage)?.prefilled, prompts + compared)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
