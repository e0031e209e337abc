/** What counts as spent. */
import {
  Advantage,
  Credit,
  FailurePolicy,
  Message,
  Pace,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  RunRecord
} from "@effect-rl/core"
import { Metering } from "@effect-rl/core/backend"
import { Prices } from "@effect-rl/core/program"
import { Call } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../../rl/Task.ts"
import {
  another,
  answersHalf,
  judged,
  judgedBy,
  lastSpent,
  price,
  reason,
  table,
  warnings,
  withAnother
} from "../Costs.ts"

describe("spending", () => {
  it.effect("includes judge calls and the tokens that they read and write", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(judged())
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const samples = calls.flatMap((call) => call._tag === "Sample" ? [call] : [])
      assert.lengthOf(samples.filter(({ modelPath }) => modelPath === "another"), 16)
      const { judgeCalls, prefilled } = lastSpent(records)
      assert.strictEqual(judgeCalls, 16)
      assert.strictEqual(prefilled, samples.reduce((sum, { request }) => sum + request.prompt.length, 0))
    }).pipe(Effect.provide(withAnother)))

  it.effect("includes failed attempts", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const model = yield* Task.model
      const dataset = RLDataset.fromArray(Task.sums, {
        groupsPerBatch: 2,
        epochs: 1,
        group: ([question], index) =>
          ProblemGroupBuilder.make({
            key: `sum/${index}`,
            size: 4,
            env: () =>
              ProblemEnv.make({
                model,
                question,
                referenceAnswer: "",
                checkAnswer: () => {
                  throw new Error("the grader is broken")
                }
              })
          })
      })
      const onFailure = FailurePolicy.fromDescription({
        maxRetries: 0,
        otherwise: {
          AcquireFailed: "drop",
          StepFailed: "drop",
          GraderFailed: "drop",
          Ungraded: "drop",
          PolicyFailed: "drop",
          HookFailed: "drop",
          TimedOut: "drop",
          Died: "drop"
        }
      })
      const records = yield* Stream.runCollect(
        Rl.run({ ...options, dataset, rollout: { onFailure, maxDroppedShare: 1 } })
      )
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const read = calls.reduce((sum, call) => call._tag === "Sample" ? sum + call.request.prompt.length : sum, 0)
      assert.deepInclude(records.find(RunRecord.guards.GroupRolledOut), { outcome: "Skipped" })
      assert.isAbove(read, 0)
      assert.strictEqual(lastSpent(records).prefilled, read)
    }).pipe(Effect.provide(answersHalf)))

  it.effect("includes the tokens that a teacher reads while minibatches are streamed", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const update = {
        learningRate: 1e-2,
        credit: Credit.distill({ teacher: yield* another, estimator: Advantage.centered })
      }
      const records = yield* Stream.runCollect(
        Rl.run({ ...options, update, pace: Pace.streaming({ minibatches: 2 }) })
      )
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const prefilled = calls.reduce((sum, call) => {
        if (call._tag === "Sample") return sum + call.request.prompt.length
        return call._tag === "ComputeLogprobs" ? sum + call.prompt.length : sum
      }, 0)
      assert.isTrue(calls.some(({ _tag }) => _tag === "ComputeLogprobs"))
      assert.strictEqual(lastSpent(records).prefilled, prefilled)
    }).pipe(Effect.provide(withAnother)))
})

describe("a request without a metered client", () => {
  /** Each answer is judged by an external model that reads a thousand tokens. */
  const judgedOutside = (tokens: Metering.Tokens | undefined, overrides: Task.Overrides["run"] = {}) =>
    judgedBy({
      respond: () =>
        Effect.gen(function*() {
          const { count } = yield* Metering.Metering
          yield* count("outside", tokens)
          return Message.assistant("<score>1</score>")
        })
    }, overrides)

  const tokens = { prefilled: 1000, sampled: 0, trained: 0 }

  it.effect("is counted when its tokens are known, and ends the run if it exceeds a limit", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(judgedOutside(tokens, { maxTokensTotal: 10_000 }))
      assert.strictEqual(reason(records), "max_tokens_total")
      assert.isAtLeast(lastSpent(records).prefilled, 8000)
    }).pipe(Effect.provide(answersHalf)))

  it.effect("has the price that a metered client gives for the same path", () =>
    Effect.gen(function*() {
      const judge = {
        respond: () =>
          Effect.gen(function*() {
            const { count, meter } = yield* Metering.Metering
            const client = meter(yield* another, "outside")
            yield* count(client.modelPath, tokens)
            return Message.assistant("<score>1</score>")
          }).pipe(Effect.scoped)
      }
      const records = yield* Stream.runCollect(
        Stream.provide(judgedBy(judge), Prices.layer({ ...table, outside: price }))
      )
      assert.isAbove(lastSpent(records).dollars ?? NaN, 16)
    }).pipe(Effect.provide(withAnother)))

  it.effect("makes dollars unknown if its tokens are unknown", () =>
    Effect.gen(function*() {
      const prices = Prices.layer({ ...table, outside: price })
      const known = yield* Stream.runCollect(Stream.provide(judgedOutside(tokens), prices)).pipe(
        Effect.provide(answersHalf, { local: true })
      )
      assert.isAbove(lastSpent(known).dollars ?? NaN, 16)
      const unknown = yield* Stream.runCollect(Stream.provide(judgedOutside(undefined), prices)).pipe(
        Effect.provide(answersHalf, { local: true })
      )
      assert.notProperty(lastSpent(unknown), "dollars")
      assert.deepStrictEqual(warnings(unknown), [
        "\"outside\" has no price for some of its tokens: dollars are unknown from here on"
      ])
    }))
})
