import { type Env, EnvMetric, Message, ProblemEnv, ProblemGroupBuilder } from "@effect-rl/core"
import { Key } from "@effect-rl/core/environments"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const tokenizer = TestTokenizer.characters
const renderer = Renderers.byName("qwen3_instruct", tokenizer)

const problem = (options: Partial<ProblemEnv.Options> = {}) =>
  Effect.map(renderer, (renderer) =>
    ProblemEnv.make({
      model: { renderer },
      question: "What is 1 + 1?",
      referenceAnswer: "2",
      checkAnswer: (text) => text.trim() === "2",
      ...options
    }))

const step = (response: string, options: Partial<ProblemEnv.Options> = {}, stopReason: "stop" | "length" = "stop") =>
  Effect.flatMap(problem(options), (env) => env.step({ tokens: tokenizer.encode(response), stopReason }))

const end = "<|im_end|>"
const eos = "<|endoftext|>"

describe("ProblemEnv rewards correct + formatCoef·(format − 1)", () => {
  const table = [
    ["right and properly ended", `2${end}`, 1],
    ["right, but cut or improperly ended", "2", 0.9],
    ["wrong and properly ended", `3${end}`, 0],
    ["wrong, and cut or improperly ended", "3", -0.1]
  ] as const
  for (const [title, response, reward] of table) {
    it.effect(`${reward} when ${title}`, () =>
      Effect.map(step(response), (found) => assert.closeTo(found.reward, reward, 1e-12)))
  }

  it.effect("uses the given formatCoef", () =>
    Effect.map(step("2", { formatCoef: 0.5 }), ({ reward }) => assert.strictEqual(reward, 0.5)))

  it.effect("counts a failed format check like an improper ending", () =>
    Effect.map(
      step(`2${end}`, { checkFormat: (text) => text.includes("boxed") }),
      ({ reward }) => assert.closeTo(reward, 0.9, 1e-12)
    ))
})

describe("ProblemEnv counts a response as properly ended", () => {
  const isWellEnded = (found: Env.Step) => found.metrics?.["format"]

  it.effect("at the renderer's stop, required or not", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(isWellEnded(yield* step(`2${end}`)), EnvMetric.rate(true))
      assert.deepStrictEqual(isWellEnded(yield* step(`2${end}`, { requireStopSequence: false })), EnvMetric.rate(true))
    }))

  it.effect("at the model's end of text only if the stop is not required", () =>
    Effect.gen(function*() {
      const model = { renderer: yield* Renderers.byName("role_colon", tokenizer) }
      assert.closeTo((yield* step(` 2${eos}`, { model })).reward, 0.9, 1e-12)
      assert.strictEqual((yield* step(` 2${eos}`, { model, requireStopSequence: false })).reward, 1)
    }))

  it.effect("never if it was truncated", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(isWellEnded(yield* step("2", {}, "length")), EnvMetric.rate(false))
      assert.deepStrictEqual(
        isWellEnded(yield* step("2", { requireStopSequence: false }, "length")),
        EnvMetric.rate(false)
      )
    }))
})

describe("an episode of ProblemEnv", () => {
  it.effect("begins with the prefix messages, then the question", () =>
    Effect.gen(function*() {
      const prefix = [Message.user("What is 0 + 1?"), Message.assistant("1")]
      const env = yield* problem({ prefix })
      const first = yield* env.initialObservation
      if (first._tag === "Overflow") return assert.fail("the prompt does not fit")
      const { generationPrompt, stop } = yield* renderer
      assert.deepStrictEqual(first.input, yield* generationPrompt([...prefix, Message.user("What is 1 + 1?")]))
      assert.deepStrictEqual(first.stop, stop)
    }))

  it.effect("ends after one step, which reports the response and how it ended", () =>
    Effect.gen(function*() {
      const done = yield* step(`2${end}`)
      assert.strictEqual(done._tag, "Done")
      assert.deepStrictEqual(done.score, { value: 1, success: true, answer: "2" })
      assert.propertyVal(done, "stopReason", "completed")
    }))

  it.effect("is graded if it was truncated, and reports the truncation", () =>
    Effect.gen(function*() {
      const done = yield* step("2", {}, "length")
      assert.closeTo(done.reward, 0.9, 1e-12)
      assert.propertyVal(done, "stopReason", "max_tokens")
    }))
})

describe("a grader of ProblemEnv", () => {
  class JudgeAway extends Schema.TaggedError<JudgeAway>()("JudgeAway", {}) {}

  const judged = (checkAnswer: (text: string) => Effect.Effect<boolean, JudgeAway>) =>
    Effect.map(
      renderer,
      (renderer) => ProblemEnv.make({ model: { renderer }, question: "?", referenceAnswer: "2", checkAnswer })
    )

  it.effect("may be an effect", () =>
    Effect.gen(function*() {
      const env = yield* judged((text) => Effect.succeed(text === "2"))
      assert.strictEqual((yield* env.step({ tokens: tokenizer.encode(`2${end}`) })).reward, 1)
    }))

  it.effect("fails with its own error", () =>
    Effect.gen(function*() {
      const env = yield* judged(() => new JudgeAway())
      const error = yield* Effect.flip(env.step({ tokens: tokenizer.encode(`2${end}`) }))
      assert.strictEqual(error._tag, "JudgeAway")
    }))
})

it.effect("ProblemGroupBuilder makes one environment per member", () =>
  Effect.gen(function*() {
    const env = yield* problem()
    const members: Array<number> = []
    const builder = ProblemGroupBuilder.make({
      key: "sum/0",
      size: 2,
      env: (member) => {
        members.push(member)
        return env
      }
    })
    assert.deepInclude(builder, { key: "sum/0", size: 2, tags: ["problems"] })
    const group = yield* Effect.scoped(builder.open)
    assert.deepStrictEqual(members, [])
    yield* Effect.forEach([0, 1], (member) =>
      Effect.scoped(
        group.makeEnv(member, Key.memberAttempt(0, { iteration: 0, group: "group", member: member, attempt: 0 }))
      ))
    assert.deepStrictEqual(members, [0, 1])
    assert.isUndefined(group.groupRewards)
  }))
