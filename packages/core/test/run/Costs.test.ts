/** What a run costs beyond its tokens: dollars, time and calls of judges, each with its limit. */
import {
  Advantage,
  Credit,
  FailurePolicy,
  InvalidOption,
  Message,
  MessagePolicy,
  Metering,
  Pace,
  Prices,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  RubricGradedGroupBuilder,
  RunRecord,
  Spent,
  Tinker,
  Usage
} from "@effect-rl/core"
import { Call, Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../rl/Task.ts"

const run = (overrides: Task.Overrides = {}) =>
  Stream.unwrap(Effect.map(Task.options(overrides), (options) => Rl.run(options)))

const price = { prefill: 1000, cached: 100, sample: 2000, train: 4000 }

const table = { [Script.defaultModel]: price }

const priced = Stream.provide(Prices.layer(table))

const lastSpent = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.flatMap((record) => "spent" in record ? [record.spent] : []).at(-1) ?? Spent.zero

const warnings = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Warning).map(({ message }) => message)

const reason = (records: ReadonlyArray<RunRecord.RunRecord>) => records.findLast(RunRecord.guards.Finished)?.reason

const answersHalf = Task.layer({ sample: Task.answersHalf })

/** A backend with another model, which answers what judges answer. */
const withAnother = Task.layer({
  models: { [Script.defaultModel]: {}, another: {} },
  sample: (request, at) =>
    at.modelPath === "another"
      ? { sequences: [Task.say("<score>1</score>")] }
      : Task.answersHalf(request, at)
})

const another = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: "another" }))

describe("Dollars", () => {
  it.effect("are those of the table, with cached prompt tokens at their own price", () =>
    Effect.gen(function*() {
      const { cached = 0, dollars, prefilled, sampled, trained } = lastSpent(yield* Stream.runCollect(priced(run())))
      assert.isAbove(cached, 0)
      const sum = (prefilled - cached) * 1000 + cached * 100 + sampled * 2000 + trained * 4000
      assert.approximately(dollars ?? NaN, sum / 1e6, 1e-12)
    }).pipe(Effect.provide(Task.layer({
      sample: (request, at) => {
        const answer = Task.answersHalf(request, at)
        return Effect.isEffect(answer) ? answer : { ...answer, promptCacheHitTokens: 10 }
      }
    }))))

  it.effect("are unknown without prices", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(run())
      assert.notProperty(lastSpent(records), "dollars")
      assert.notProperty(records.find(RunRecord.guards.Updated)?.forecast, "dollars")
      assert.deepStrictEqual(warnings(records), [])
    }).pipe(Effect.provide(answersHalf)))

  const distilled = (overrides: Task.Overrides = {}) =>
    Stream.unwrap(Effect.gen(function*() {
      const credit = Credit.distill({ teacher: yield* another })
      const options = yield* Task.options(overrides)
      return Rl.run({ ...options, update: { learningRate: 1e-2, credit } })
    }))

  it.effect("are unknown from the first request of a model without a price, and the run says so once", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(priced(distilled()))
      assert.isAbove(records.find(RunRecord.guards.GroupRolledOut)?.spent.dollars ?? NaN, 0)
      assert.notProperty(lastSpent(records), "dollars")
      assert.deepStrictEqual(warnings(records), [
        "\"another\" has no price for what it is asked: dollars are unknown from here on"
      ])
    }).pipe(Effect.provide(withAnother)))

  it.effect("of every model that is asked add up", () =>
    Effect.gen(function*() {
      const prices = Prices.layer({ ...table, another: { prefill: 5000 } })
      const records = yield* Stream.runCollect(Stream.provide(distilled(), prices))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const read = calls.reduce((sum, call) => call._tag === "ComputeLogprobs" ? sum + call.prompt.length : sum, 0)
      const { dollars, prefilled, sampled, trained } = lastSpent(records)
      assert.isAbove(read, 0)
      const sum = (prefilled - read) * 1000 + read * 5000 + sampled * 2000 + trained * 4000
      assert.approximately(dollars ?? NaN, sum / 1e6, 1e-12)
    }).pipe(Effect.provide(withAnother)))

  it.effect("end the run before they exceed their limit, with a checkpoint", () =>
    Effect.gen(function*() {
      const maxDollars = 4
      const records = yield* Stream.runCollect(priced(run({ epochs: 10, run: { maxDollars } })))
      assert.strictEqual(reason(records), "max_dollars")
      assert.isNotNull(records.findLast(RunRecord.guards.Finished)?.checkpoint)
      const { dollars = NaN } = lastSpent(records)
      assert.isAtMost(dollars, maxDollars)
      assert.isAbove(dollars, maxDollars / 2)
    }).pipe(Effect.provide(answersHalf)))

  it.effect("of all segments of a run together are limited", () =>
    Effect.gen(function*() {
      const training = priced(run({ epochs: 10, run: { maxDollars: 4 } }))
      const before = lastSpent(yield* Stream.runCollect(training)).dollars ?? NaN
      const again = yield* Stream.runCollect(training)
      assert.strictEqual(reason(again), "max_dollars")
      assert.isAtMost(lastSpent(yield* Task.records).dollars ?? NaN, 4)
      assert.isAbove(before, 2)
    }).pipe(Effect.provide(answersHalf)))

  const limited = run({ run: { maxDollars: 1000 } })

  it.effect.each([{}, { [Script.defaultModel]: { prefill: 1, sample: 1 } }])(
    "cannot be limited with the prices %o, in which some are missing",
    (prices) =>
      Effect.gen(function*() {
        const { message } = yield* Effect.flip(Stream.runDrain(Stream.provide(limited, Prices.layer(prices))))
        assert.include(message, "run.maxDollars is 1000, expected to be left out, or prices for what")
        assert.deepStrictEqual(yield* Task.records, [])
      }).pipe(Effect.provide(answersHalf))
  )

  it.effect("cannot be limited in a run that has spent without prices", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const { message } = yield* Effect.flip(Stream.runDrain(priced(limited)))
      assert.include(message, "what this one has spent is unknown")
    }).pipe(Effect.provide(answersHalf)))

  it.effect("cannot be limited where a teacher has no price", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(priced(distilled({ run: { maxDollars: 1000 } }))))
      assert.instanceOf(error, InvalidOption.InvalidOption)
      assert.include(error.message, "prices for every model that the run asks")
      assert.strictEqual((yield* Task.records).at(-1)?._tag, "Failed")
    }).pipe(Effect.provide(withAnother)))
})

describe("Prices", () => {
  it.effect("of a file are refused by the field that is wrong", () =>
    Effect.gen(function*() {
      const refused = (given: unknown) =>
        Effect.map(Effect.flip(Prices.decode(given, "--prices p.yaml")), ({ message }) => message)
      assert.include(
        yield* refused({ tiny: { sample: -1 } }),
        "--prices p.yaml.tiny.sample is -1, expected a number from 0 on"
      )
      assert.include(yield* refused({ tiny: { smaple: 1 } }), "did you mean \"sample\"?")
      assert.include(yield* refused([1]), "--prices p.yaml is [1], expected an object of models")
      assert.deepStrictEqual(yield* Prices.decode(table, "prices"), table)
    }))

  it("do not cover a kind of tokens that is left out, unless none is used", () => {
    const tokens = { prefilled: 2_000_000, sampled: 1_000_000, trained: 0 }
    assert.strictEqual(Prices.cost({ prefill: 1, sample: 4 }, tokens), 6)
    assert.strictEqual(Prices.cost({ prefill: 1, sample: 4 }, { ...tokens, cached: 2_000_000 }), 6)
    assert.isUndefined(Prices.cost({ prefill: 1 }, tokens))
    assert.isUndefined(Prices.cost(undefined, tokens))
    assert.strictEqual(Prices.cost(undefined, Usage.zero), 0)
  })
})

describe("A limit on minutes", () => {
  const slow = Task.layer({ sample: Task.answersHalf, faults: [Fault.every("Sample", Fault.slow("1 minute"))] })

  const timed = Effect.fnUntraced(function*(overrides: Task.Overrides) {
    const fiber = yield* Effect.forkChild(Stream.runCollect(run(overrides)))
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("10 seconds")), { times: 100 })
    return yield* Fiber.join(fiber)
  })

  it.effect("ends the run when they are over, with a checkpoint", () =>
    Effect.gen(function*() {
      const records = yield* timed({ epochs: 10, run: { maxMinutes: 2.5 } })
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 2, reason: "max_minutes" })
      assert.isAtMost(lastSpent(records).seconds ?? NaN, 150)
      assert.lengthOf(records.filter(RunRecord.guards.Saved), 1)
    }).pipe(Effect.provide(slow)))

  it.effect("holds over all segments of the run, and not while it is closed", () =>
    Effect.gen(function*() {
      const run = { maxMinutes: 2.5 }
      yield* timed({ epochs: 10, run: { ...run, iterations: 1 } })
      yield* TestClock.adjust("1 day")
      const records = yield* timed({ epochs: 10, run: { ...run, iterations: 8 } })
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 2, reason: "max_minutes" })
      const again = yield* timed({ epochs: 10, run: { ...run, iterations: 8 } })
      assert.deepInclude(again.at(-1), { _tag: "Finished", iteration: 2, reason: "max_minutes" })
      assert.notInclude(again.map(({ _tag }) => _tag), "GroupRolledOut")
    }).pipe(Effect.provide(slow)))
})

describe("Calls of judges", () => {
  const judged = (overrides: Task.Overrides["run"] = {}) =>
    Stream.unwrap(Effect.gen(function*() {
      const model = yield* Task.model
      const judge = MessagePolicy.fromSamplingClient(yield* another, { model, maxTokens: 20, seed: 0 })
      const dataset = RLDataset.fromArray(["one", "two", "three", "four"], {
        groupsPerBatch: 2,
        epochs: 1,
        group: (word) =>
          RubricGradedGroupBuilder.make({
            key: word,
            size: 4,
            model,
            messages: [Message.user(word)],
            rubrics: [{ text: "It is a number." }],
            judge
          })
      })
      const options = yield* Task.options()
      return Rl.run({ ...options, dataset, run: { evalEvery: 0, ...overrides } })
    }))

  it.effect("are counted, and so are the tokens that judges read and write", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(judged())
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const samples = calls.flatMap((call) => call._tag === "Sample" ? [call] : [])
      assert.lengthOf(samples.filter(({ modelPath }) => modelPath === "another"), 16)
      const { judgeCalls, prefilled } = lastSpent(records)
      assert.strictEqual(judgeCalls, 16)
      assert.strictEqual(prefilled, samples.reduce((sum, { request }) => sum + request.prompt.length, 0))
    }).pipe(Effect.provide(withAnother)))

  it.effect("end the run before they exceed their limit", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(judged({ maxJudgeCalls: 10 }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 1, reason: "max_judge_calls" })
      assert.isAtMost(lastSpent(records).judgeCalls ?? NaN, 10)
    }).pipe(Effect.provide(withAnother)))

  it.effect("of all segments of a run together are limited", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(judged({ maxJudgeCalls: 10 }))
      const records = yield* Stream.runCollect(judged({ maxJudgeCalls: 10 }))
      assert.deepInclude(records.at(-1), { _tag: "Finished", iteration: 1, reason: "max_judge_calls" })
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.isAtMost(calls.filter((call) => call._tag === "Sample" && call.modelPath === "another").length, 10)
    }).pipe(Effect.provide(withAnother)))
})

describe("What is spent", () => {
  it.effect("includes the attempts that fail", () =>
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

  it.effect("includes what a teacher reads while minibatches are streamed", () =>
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

describe("A request without a metered client", () => {
  /** Judges each answer by an outside model, which reads a thousand tokens. */
  const judgedOutside = (tokens: Metering.Tokens | undefined, overrides: Task.Overrides["run"] = {}) =>
    Stream.unwrap(Effect.gen(function*() {
      const model = yield* Task.model
      const judge: MessagePolicy.MessagePolicy = {
        respond: () =>
          Effect.gen(function*() {
            const { count } = yield* Metering.Metering
            yield* count("outside", tokens)
            return Message.assistant("<score>1</score>")
          })
      }
      const dataset = RLDataset.fromArray(["one", "two", "three", "four"], {
        groupsPerBatch: 2,
        group: (key) =>
          RubricGradedGroupBuilder.make({
            key,
            size: 4,
            model,
            messages: [Message.user(key)],
            rubrics: [{ text: "It is a number." }],
            judge
          })
      })
      return Rl.run({ ...yield* Task.options(), dataset, run: { evalEvery: 0, ...overrides } })
    }))

  const tokens = { prefilled: 1000, sampled: 0, trained: 0 }

  it.effect("is counted when its tokens are known, and ends the run where it exceeds a limit", () =>
    Effect.gen(function*() {
      const records = yield* Stream.runCollect(judgedOutside(tokens, { maxTokensTotal: 10_000 }))
      assert.strictEqual(reason(records), "max_tokens_total")
      assert.isAtLeast(lastSpent(records).prefilled, 8000)
    }).pipe(Effect.provide(answersHalf)))

  it.effect("makes dollars unknown where its tokens are", () =>
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
    }))
})

describe("A soft limit", () => {
  const share = { epochs: 10, run: { maxTokensTotal: 1500, softShare: 0.5, saveEvery: 1 } }

  it.effect("warns once when its share is spent, in all segments together, and the run goes on", () =>
    Effect.gen(function*() {
      const first = yield* Stream.runCollect(Stream.takeUntil(run(share), RunRecord.guards.Warning))
      const [warning] = warnings(first)
      assert.strictEqual(
        warning,
        "50 % of max_tokens_total 1500 are spent: the run ends before it might exceed that limit"
      )
      const spent = lastSpent(first)
      assert.isAtLeast(Usage.total(spent), 750)
      const second = yield* Stream.runCollect(run(share))
      assert.strictEqual(reason(second), "max_tokens_total")
      assert.deepStrictEqual(warnings(second), [])
      assert.isAbove(Usage.total(lastSpent(second)), Usage.total(spent))
    }).pipe(Effect.provide(answersHalf)))

  it.effect("warns of each limit by itself", () =>
    Effect.gen(function*() {
      const run_ = { maxTokensTotal: 100_000, maxDollars: 4, softShare: 0.25 }
      const records = yield* Stream.runCollect(priced(run({ epochs: 10, run: run_ })))
      assert.deepStrictEqual(warnings(records), [
        "25 % of max_dollars 4 are spent: the run ends before it might exceed that limit"
      ])
    }).pipe(Effect.provide(answersHalf)))
})
