import { Env, type EnvGroupBuilder, Evaluator, ProblemEnv, ProblemGroupBuilder, Score, Tinker } from "@effect-rl/core"
import { ModelInput, Weights } from "@effect-rl/core/backend"
import { Proportion } from "@effect-rl/core/evaluation"
import type { Renderer } from "@effect-rl/core/renderers"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Task from "../rl/Task.ts"

/** One group per sum, with `size` attempts each. */
const sums = (size: number) =>
  Effect.map(Task.model, (model) =>
    Task.sums.map(([question, answer], index) =>
      ProblemGroupBuilder.make({
        key: `sum/${index}`,
        size,
        env: () =>
          ProblemEnv.make({ model, question, referenceAnswer: answer, checkAnswer: (text) => text.trim() === answer })
      })
    ))

class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

type Builder = EnvGroupBuilder.EnvGroupBuilder<Lost | Renderer.RendererError>

const evaluate = (
  groups: ReadonlyArray<Builder>,
  options: Pick<Evaluator.TestSetOptions<never, never>, "limits" | "termination"> = {}
) =>
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
    return yield* Evaluator.testSet({ name: "test", maxTokens: 8, ...options, groups }).evaluate(
      Weights.fromSamplingClient(sampler)
    )
  }).pipe(Effect.scoped)

const broken = (key: string, open: Effect.Effect<Env.Env<Lost>, Lost>): Builder => ({
  key,
  size: 1,
  tags: [],
  open: Effect.succeed({ makeEnv: () => open })
})

describe("Evaluator.testSet", () => {
  it.effect("has Wilson's interval over problems for one attempt each", () =>
    Effect.gen(function*() {
      const { metrics } = yield* evaluate(yield* sums(1))
      const hits = (metrics["test/correct"] ?? NaN) * 4
      const { high, low } = Proportion.wilson(hits, 4)
      assert.deepInclude(metrics, { "test/correct_low": low, "test/correct_high": high, "test/episodes": 4 })
      assert.notProperty(metrics, "test/pass@1")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("treats problems as the unit for several attempts, and reports how often one is correct", () =>
    Effect.gen(function*() {
      const { metrics } = yield* evaluate(yield* sums(4))
      const { high, low } = Proportion.wilson(8, 16)
      assert.deepInclude(metrics, {
        "test/correct": 0.5,
        "test/correct_low": low,
        "test/correct_high": high,
        "test/pass@4": 1,
        "test/reward": 0.5,
        "test/truncated": 0
      })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("leaves out failed members, counts them, and continues", () =>
    Effect.gen(function*() {
      const groups = yield* sums(1)
      const { metrics } = yield* evaluate([
        ...groups,
        broken("fails", Effect.fail(new Lost())),
        broken("throws", Effect.die("no such thing"))
      ])
      assert.deepInclude(metrics, { "test/episodes": 4, "test/skipped_groups": 2 })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("applies limits, and gives reward 0 to episodes that ended at one if that is configured", () =>
    Effect.gen(function*() {
      const groups = yield* sums(4)
      const cut = { limits: { maxTurnTokens: 1 } }
      assert.deepInclude((yield* evaluate(groups, cut)).metrics, { "test/truncated": 1, "test/correct": 1 })
      const clamped = yield* evaluate(groups, { ...cut, termination: { zeroRewardOnLimit: true } })
      assert.deepInclude(clamped.metrics, { "test/correct": 1, "test/reward": 0 })
    }).pipe(Effect.provide(Task.layer({
      sample: Script.reply(Task.tokenizer, (prompt) => ({
        ...Script.text(Task.tokenizer, Task.sums.find(([sum]) => prompt.includes(sum))?.[1] ?? ""),
        stopReason: "length"
      }))
    }))))

  it.effect("counts an episode that ended before it was judged as incorrect", () =>
    Effect.gen(function*() {
      const answers = (key: string, step: Env.Step): Builder =>
        broken(
          key,
          Effect.succeed({
            initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([40]), [])),
            step: () => Effect.succeed(step)
          })
        )
      const right = answers("right", { _tag: "Done", reward: 1, score: Score.correct(true) })
      const cut = answers("cut", { _tag: "Done", reward: -0.1, stopReason: "max_tokens" })
      const overflow = broken(
        "overflow",
        Effect.succeed({
          initialObservation: Effect.succeed({ _tag: "Overflow", reward: -0.1 }),
          step: () => Effect.die("there was no prompt")
        })
      )
      const { metrics } = yield* evaluate([right, cut, overflow])
      assert.deepInclude(metrics, { "test/correct": 1 / 3, "test/episodes": 3 })
      assert.notProperty((yield* evaluate([cut])).metrics, "test/correct")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("refuses two groups with the same key", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(evaluate([...yield* sums(1), ...yield* sums(1)]))
      assert.include(error.message, `key is "sum/0" twice`)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("omits metrics that no environment reports", () =>
    Effect.gen(function*() {
      const { metrics } = yield* evaluate([broken("fails", Effect.fail(new Lost()))])
      assert.deepStrictEqual(metrics, { "test/episodes": 0, "test/dropped_members": 0, "test/skipped_groups": 1 })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  describe("Evaluator.testSet, for groups with the rewards", () => {
    const rewarded = (key: string, ...rewards: ReadonlyArray<number>): Builder => ({
      key,
      size: rewards.length,
      tags: [],
      open: Effect.succeed({
        makeEnv: (member) =>
          Effect.succeed({
            initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([40]), [])),
            step: () => {
              const reward = rewards[member] ?? NaN
              return Effect.succeed({ _tag: "Done", reward, score: Score.correct(reward > 0) })
            }
          })
      })
    })
    const lost = (key: string) => broken(key, Effect.fail(new Lost()))

    it.effect("[1] and [0], reports half as correct", () =>
      Effect.gen(function*() {
        const { metrics } = yield* evaluate([rewarded("a", 1), rewarded("b", 0)])
        assert.deepInclude(metrics, {
          "test/correct": 0.5,
          "test/reward": 0.5,
          "test/episodes": 2,
          "test/skipped_groups": 0
        })
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

    it.effect("[0.25, 0.75], [1, 1] and [-0.5, 0.5], reports the mean with its standard error over groups", () =>
      Effect.gen(function*() {
        const { metrics, reward } = yield* evaluate([
          rewarded("a", 0.25, 0.75),
          rewarded("b", 1, 1),
          rewarded("c", -0.5, 0.5)
        ])
        // The group means are 0.5, 1 and 0; their variance is 0.25.
        assert.strictEqual(reward?.mean, 0.5)
        assert.closeTo(reward?.standardError ?? NaN, Math.sqrt(0.25 / 3), 1e-12)
        assert.strictEqual(metrics["test/reward_standard_error"], reward?.standardError)
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

    it.effect("0 or 1 without a score, reports Wilson's interval of the mean, which stays inside [0, 1]", () =>
      Effect.gen(function*() {
        const unscored = (reward: number, index: number) =>
          broken(
            `group ${index}`,
            Effect.succeed({
              initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([40]), [])),
              step: () => Effect.succeed({ _tag: "Done", reward })
            })
          )
        const { reward, score } = yield* evaluate([1, 1, 1, 1, 1, 1, 1, 1, 1, 0].map(unscored))
        const { high, low } = Proportion.wilson(9, 10)
        assert.deepInclude(reward, { mean: 0.9, low, high })
        assert.isUndefined(score)
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

    it.effect("[0.25, 0.75] of a single group, reports no standard error", () =>
      Effect.gen(function*() {
        const { metrics, reward } = yield* evaluate([rewarded("a", 0.25, 0.75)])
        assert.deepStrictEqual(reward, { mean: 0.5 })
        assert.notProperty(metrics, "test/reward_standard_error")
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

    it.effect("[1] and a failed group, reports all finished members as correct and one as missing", () =>
      Effect.gen(function*() {
        const { metrics } = yield* evaluate([rewarded("a", 1), lost("b")])
        assert.deepInclude(metrics, { "test/correct": 1, "test/episodes": 1, "test/skipped_groups": 1 })
        const none = yield* evaluate([lost("a"), lost("b")])
        assert.notProperty(none.metrics, "test/correct")
        assert.deepInclude(none.metrics, { "test/skipped_groups": 2 })
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

    it.effect("[1, 0] and [0, 0], reports one of two problems as correct in two attempts", () =>
      Effect.gen(function*() {
        const { metrics } = yield* evaluate([rewarded("a", 1, 0), rewarded("b", 0, 0)])
        assert.deepInclude(metrics, { "test/pass@2": 0.5, "test/correct": 0.25, "test/episodes": 4 })
      }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
  })
})
