import {
  EnvMetric,
  FailurePolicy,
  Message,
  type MessagePolicy,
  Rollout,
  RubricGradedGroupBuilder
} from "@effect-rl/core"
import { Rubric } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { model, play, says, watched } from "./Judged.ts"

const question = [Message.system("Be kind."), Message.user("What is 4 + 5?")]

const group = <E>(
  judge: MessagePolicy.MessagePolicy<E>,
  options: Partial<RubricGradedGroupBuilder.Options<E, never>> = {}
) =>
  Effect.map(model, (model) =>
    RubricGradedGroupBuilder.make({
      key: "sum",
      size: 2,
      model,
      messages: question,
      rubrics: [{ text: "The number is the sum." }, { text: "Friendly.", range: [1, 5] }],
      judge,
      ...options
    }))

const answers = (answer: (request: MessagePolicy.Request) => string): MessagePolicy.MessagePolicy => ({
  respond: (request) => Effect.succeed(Message.assistant(answer(request)))
})

const end = "<|im_end|>"

describe("RubricGradedGroupBuilder rewards the mean score + formatCoef·(format − 1)", () => {
  const judge = answers(({ key }) =>
    key.endsWith("r0") ? "Right.\n<score>1</score>" : key.includes("m0") ? "<score> 5 </score>" : "<score>2</score>"
  )

  it.effect("over the rubrics, with each score scaled to its range", () =>
    Effect.gen(function*() {
      const result = yield* play(yield* group(judge), `9, dear${end}`, `9${end}`)
      if (result._tag !== "Completed") return assert.fail(result._tag)
      assert.deepStrictEqual([...result.rewardsG], [1, 0.625])
      assert.deepStrictEqual(result.metricsG[1], { rubric_score: EnvMetric.mean(0.625), format: EnvMetric.rate(true) })
    }))

  it.effect("with less for an answer that did not end well", () =>
    Effect.gen(function*() {
      const result = yield* play(yield* group(judge, { formatCoef: 0.5 }), "9", `9${end}`)
      if (result._tag !== "Completed") return assert.fail(result._tag)
      assert.deepStrictEqual([...result.rewardsG], [0.5, 0.625])
    }))
})

describe("the judge of RubricGradedGroupBuilder", () => {
  it.effect("sees the conversation, the completion and the rubric", () =>
    Effect.gen(function*() {
      const prompts: Array<string> = []
      const judge = answers(({ messages }) => {
        prompts.push(messages.map(Message.text).join())
        return "<score>1</score>"
      })
      yield* play(yield* group(judge, { size: 1 }), `9${end}`)
      const [first = "", second = ""] = prompts
      for (
        const part of [
          "Human: Be kind.",
          "Human: What is 4 + 5?",
          "Chatbot: 9",
          "The number is the sum.",
          "from 0 to 1"
        ]
      ) {
        assert.include(first, part)
      }
      assert.include(second, "from 1 to 5")
    }))

  it("is told if there is no earlier conversation", () => {
    assert.include(
      Message.text(Rubric.prompt({ text: "Short." }, [], Message.assistant("Hi"))),
      "(nothing before the completion)"
    )
  })

  it.effect("is asked concurrently, within the given limit", () =>
    Effect.gen(function*() {
      const { judge, keys, most } = yield* watched(() => Effect.succeed("<score>1</score>"))
      const fiber = yield* Effect.forkChild(play(yield* group(judge, { concurrency: 3 }), `9${end}`, `9${end}`))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.strictEqual(yield* most, 3)
      assert.sameMembers([...(yield* keys)], ["0/sum/a0/m0/r0", "0/sum/a0/m0/r1", "0/sum/a0/m1/r0", "0/sum/a0/m1/r1"])
    }))

  it.effect.each(["", "1", "<score>good</score>", "<score>1.5</score>", "<score>-1</score>", "<score>NaN</score>"])(
    "without a score in range fails the grading, not the members (%j)",
    (answer) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(play(yield* group(answers(() => answer)), `9${end}`, `9${end}`))
        assert.strictEqual(error._tag, "JudgeError")
        assert.strictEqual(
          error.message,
          `the judge of "0/sum/a0/m0/r0" said ${
            JSON.stringify(answer)
          }, expected a score from 0 to 1 as <score>…</score>`
        )
      })
  )

  it.effect("is asked again if the failure policy retries, without another rollout", () =>
    Effect.gen(function*() {
      let asked = 0
      let acted = 0
      const judge = answers(() => asked++ === 0 ? "no idea" : "<score>1</score>")
      const policy = says(`9${end}`, `9${end}`)
      const counted = {
        act: (request: Parameters<typeof policy.act>[0]) =>
          Effect.tap(policy.act(request), () => Effect.sync(() => acted++))
      }
      const result = yield* Rollout.group(yield* group(judge), counted, {
        onFailure: { ...FailurePolicy.failFast, retry: Schedule.recurs(1) }
      })
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(acted, 2)
    }))

  it.effect("is interrupted at the grader's time limit, and the members are rolled out only once", () =>
    Effect.gen(function*() {
      const { judge, most, now } = yield* watched(() => Effect.never)
      const rolled = Effect.flatMap(
        group(judge),
        (builder) => Rollout.group(builder, says(`9${end}`, `9${end}`), { graderTimeout: "5 seconds" })
      )
      const fiber = yield* Effect.forkChild(rolled)
      yield* TestClock.adjust("1 minute")
      const result = yield* Fiber.join(fiber)
      const message = result._tag === "Skipped" ? result.reason.message : result._tag
      assert.include(message, `group "sum": not graded within 5s`)
      assert.deepStrictEqual([yield* most, yield* now], [4, 0])
    }))
})
