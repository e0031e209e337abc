import { EnvMetric, Message, PairwisePreferenceGroupBuilder } from "@effect-rl/core"
import { PreferenceModel } from "@effect-rl/core/environments"
import { RolloutError } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { model, play, watched } from "./Judged.ts"

class JudgeAway extends Schema.TaggedError<JudgeAway>()("JudgeAway", {}) {}

const text = (messages: ReadonlyArray<Message.Message>) => messages.map(Message.text).join()

/** The shorter is better. */
const shorter: PreferenceModel.PreferenceModel = {
  compare: ({ completionA, completionB }) =>
    Effect.succeed(Math.sign(text(completionA).length - text(completionB).length))
}

type Overrides<E> = Partial<PairwisePreferenceGroupBuilder.Options<E, never>>

const group = <E = never>(
  options: Overrides<E> & Pick<PairwisePreferenceGroupBuilder.Options<E, never>, "preferenceModel">
) =>
  Effect.map(model, (model) =>
    PairwisePreferenceGroupBuilder.make({
      key: "who",
      size: 3,
      model,
      messages: [Message.user("Who are you?")],
      ...options
    }))

const end = "<|im_end|>"

describe("PairwisePreferenceGroupBuilder rewards wins minus losses + (format − 1)", () => {
  it.effect("for three well-ended answers, when the shorter one wins", () =>
    Effect.gen(function*() {
      const result = yield* play(yield* group({ preferenceModel: shorter }), `a${end}`, `aa${end}`, `aaa${end}`)
      if (result._tag !== "Completed") return assert.fail(result._tag)
      assert.deepStrictEqual([...result.rewardsG], [1, 0, -1])
      assert.deepStrictEqual(result.metricsG[0], { win_minus_loss: EnvMetric.mean(1), format: EnvMetric.rate(true) })
      assert.deepStrictEqual(result.tags, ["pair_pref"])
    }))

  it.effect("with 1 less for an answer that did not end well", () =>
    Effect.gen(function*() {
      const result = yield* play(yield* group({ preferenceModel: shorter }), `a`, `aa${end}`, `aa${end}`)
      if (result._tag !== "Completed") return assert.fail(result._tag)
      assert.deepStrictEqual([...result.rewardsG], [0, -0.5, -0.5])
      assert.deepInclude(result.metricsG[0], { format: EnvMetric.rate(false) })
    }))

  it.effect("for the part of an answer that `prepare` returns", () =>
    Effect.gen(function*() {
      const builder = yield* group({
        preferenceModel: shorter,
        size: 2,
        prepare: (answer) => answer.split("Answer: ").at(-1) ?? ""
      })
      const result = yield* play(builder, `well, hm, Answer: a${end}`, `Answer: ab${end}`)
      if (result._tag !== "Completed") return assert.fail(result._tag)
      assert.deepStrictEqual([...result.rewardsG], [1, -1])
    }))
})

describe("pairwise comparisons", () => {
  it.effect("run concurrently within the given limit, with the same results", () =>
    Effect.gen(function*() {
      const run = Effect.fnUntraced(function*(concurrency: number) {
        const { judge, keys, most } = yield* watched(({ messages }) =>
          Effect.succeed(messages.some((message) => Message.text(message) === "aaa") ? "B" : "Tie")
        )
        const builder = yield* group({ preferenceModel: PreferenceModel.fromMessagePolicy(judge), concurrency })
        const fiber = yield* Effect.forkChild(play(builder, `a${end}`, `aa${end}`, `aaa${end}`))
        yield* TestClock.adjust("1 minute")
        const result = yield* Fiber.join(fiber)
        if (result._tag !== "Completed") return assert.fail(result._tag)
        return { rewards: [...result.rewardsG], most: yield* most, keys: yield* keys }
      })
      const one = yield* run(1)
      const four = yield* run(4)
      assert.deepStrictEqual([one.most, four.most], [1, 4])
      assert.deepStrictEqual(four.rewards, one.rewards)
      assert.deepStrictEqual(one.keys, [
        "0/who/a0/0-1",
        "0/who/a0/0-2",
        "0/who/a0/1-0",
        "0/who/a0/1-2",
        "0/who/a0/2-0",
        "0/who/a0/2-1"
      ])
    }))

  it.effect("interrupt the others and fail the group if one fails", () =>
    Effect.gen(function*() {
      const { judge, now } = yield* watched(({ key }) =>
        key === "0/who/a0/0-1" ? Effect.fail(new JudgeAway()) : Effect.never
      )
      const builder = yield* group({ preferenceModel: PreferenceModel.fromMessagePolicy(judge) })
      const fiber = yield* Effect.forkChild(Effect.flip(play(builder, `a${end}`, `b${end}`, `c${end}`)))
      yield* TestClock.adjust("1 minute")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "JudgeAway")
      assert.strictEqual(yield* now, 0)
    }))

  it.effect.each(["C", "", "A is better"])(
    "refuse an answer without a verdict (%j)",
    (verdict) =>
      Effect.gen(function*() {
        const preferenceModel = PreferenceModel.fromMessagePolicy({
          respond: () => Effect.succeed(Message.assistant(verdict))
        })
        const error = yield* Effect.flip(play(yield* group({ preferenceModel }), `a${end}`, `b${end}`, `c${end}`))
        assert.strictEqual(
          error.message,
          `the judge of "0/who/a0/0-1" said ${JSON.stringify(verdict)}, expected A, B or Tie`
        )
      })
  )

  it.effect.each([NaN, 2, -1.5])("refuse a score outside −1 to 1 (%d)", (score) =>
    Effect.gen(function*() {
      const preferenceModel = { compare: () => Effect.succeed(score) }
      const error = yield* Effect.flip(play(yield* group({ preferenceModel }), `a${end}`, `b${end}`, `c${end}`))
      assert.notInstanceOf(error, RolloutError.RolloutError)
      assert.include(error.message, `said ${score}, expected a number from −1 to 1`)
    }))
})

it.effect("the preference model reads both answers under headings, and its verdicts A, B and Tie score −1, 1 and 0", () =>
  Effect.gen(function*() {
    const comparison = {
      prompt: [Message.user("Hi")],
      completionA: [Message.assistant("a")],
      completionB: [Message.assistant("b")]
    }
    assert.deepStrictEqual(
      PreferenceModel.conversation(comparison).map((message) => `${message.role}: ${Message.text(message)}`),
      [
        "user: Hi",
        "system: ==== Completion A ====",
        "assistant: a",
        "system: ==== Completion B ====",
        "assistant: b",
        "system: ==== Preference ===="
      ]
    )
    const scores = yield* Effect.forEach(["A", " B\n", "Tie"], (verdict) =>
      PreferenceModel.fromMessagePolicy({
        respond: () => Effect.succeed(Message.assistant(verdict))
      })
        .compare(comparison, ""))
    assert.deepStrictEqual(scores, [-1, 1, 0])
  }))

it.effect("a matchupGroupSize or concurrency below 1 is refused when the group is opened", () =>
  Effect.gen(function*() {
    const opened = (options: object) =>
      Effect.flatMap(group({ preferenceModel: shorter, ...options }), ({ open }) => Effect.exit(open))
    const wrong = yield* opened({ matchupGroupSize: 0 })
    assert.include(String(wrong), "matchupGroupSize is 0, expected a whole number of at least 1")
    assert.include(String(yield* opened({ concurrency: 0 })), "concurrency is 0")
  }))
