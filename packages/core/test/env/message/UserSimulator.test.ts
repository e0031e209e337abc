import { EnvMetric, Message, MessageEnv, type MessagePolicy, Rollout } from "@effect-rl/core"
import { UserSimulator } from "@effect-rl/core/environments"
import { EnvLaws } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Talk from "../Talk.ts"

class UserLost extends Schema.TaggedError<UserLost>()("UserLost", {}) {}

interface Asked {
  readonly key: string
  readonly seen: ReadonlyArray<string>
}

/** A simulated user that says these texts in turn and records its conversations. */
const user = (...texts: ReadonlyArray<string>) => {
  const asked: Array<Asked> = []
  const policy: MessagePolicy.MessagePolicy = {
    respond: ({ key, messages }) =>
      Effect.sync(() => {
        const text = texts[asked.length] ?? "And?"
        asked.push({ key, seen: messages.map((message) => `${message.role}: ${Message.text(message)}`) })
        return Message.assistant(text)
      })
  }
  return { policy, asked }
}

const play = Effect.fnUntraced(function*<E>(
  options:
    & Partial<UserSimulator.Options<E, never, never, never>>
    & Pick<UserSimulator.Options<E, never, never, never>, "user">
) {
  const graded: Array<ReadonlyArray<string>> = []
  const renderer = yield* Talk.qwen
  const messages = UserSimulator.make({
    key: "returns/m0",
    persona: "You want your money back.",
    messages: [Message.system("Help customers.")],
    maxTurns: 3,
    isOver: (message) => Message.text(message).includes("Bye"),
    grade: (conversation) =>
      Effect.sync(() => {
        graded.push(conversation.map(({ role }) => role))
        return { reward: 0.7, metrics: { kind: EnvMetric.rate(true) } }
      }),
    ...options
  })
  const env = yield* MessageEnv.toEnv(messages, { model: { renderer } })
  const policy = Talk.policy(Talk.said("No."), Talk.said("Fine."))
  const trajectory = yield* Rollout.episode(env, policy, Talk.key)
  return { trajectory, graded, shown: policy.requests.map(({ prompt }) => Talk.text(prompt)) }
})

describe("UserSimulator.make", () => {
  it.effect("lets the user open the conversation, see it from their side, and end it", () =>
    Effect.gen(function*() {
      const { asked, policy } = user("I want my money back.", "Please!", "Thanks. Bye")
      const { graded, shown, trajectory } = yield* play({ user: policy })
      assert.deepStrictEqual(asked, [
        { key: "returns/m0/u0", seen: ["system: You want your money back."] },
        {
          key: "returns/m0/u1",
          seen: ["system: You want your money back.", "assistant: I want my money back.", "user: No."]
        },
        {
          key: "returns/m0/u2",
          seen: [
            "system: You want your money back.",
            "assistant: I want my money back.",
            "user: No.",
            "assistant: Please!",
            "user: Fine."
          ]
        }
      ])
      assert.include(shown[0], "Help customers.")
      assert.notInclude(shown.join(), "You want your money back", "the policy does not see who they are")
      assert.deepStrictEqual(graded, [["system", "user", "assistant", "user", "assistant", "user"]])
      assert.strictEqual(trajectory.stepReward, 0.7)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
      assert.deepStrictEqual(trajectory.transitions.at(-1)?.metrics, { kind: EnvMetric.rate(true) })
    }))

  it.effect("does not ask the user to open a conversation that begins with a user message", () =>
    Effect.gen(function*() {
      const { asked, policy } = user("Bye")
      yield* play({ user: policy, messages: [Message.user("Hello?")] })
      assert.deepStrictEqual(asked.map(({ seen }) => seen.length), [3])
    }))

  it.effect("does not ask the user after the policy's last turn", () =>
    Effect.gen(function*() {
      const { asked, policy } = user()
      const { graded, trajectory } = yield* play({ user: policy })
      assert.strictEqual(asked.length, 3)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("max_turns"))
      assert.deepStrictEqual(graded.length, 1)
    }))

  it.effect("fails the step with the user's error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(play({ user: { respond: () => new UserLost() } }))
      assert.strictEqual(error._tag, "UserLost")
    }))
})

describe("UserSimulator laws", () => {
  const makeEnv = (seed: number) =>
    Effect.gen(function*() {
      const renderer = yield* Talk.qwen
      const messages = UserSimulator.make({
        key: `${seed}`,
        user: { respond: ({ key }) => Effect.succeed(Message.assistant(key.endsWith("u3") ? "Bye" : `Well, ${key}?`)) },
        persona: "",
        messages: [],
        maxTurns: 3,
        isOver: (message) => Message.text(message) === "Bye",
        grade: () => Effect.succeed({ reward: seed })
      })
      return yield* MessageEnv.toEnv(messages, { model: { renderer } })
    }).pipe(Effect.orDie)
  const options = { tokenizer: Talk.tokenizer, vocabulary: Talk.tokenizer.vocabulary, replies: ["Yes", "No"] } as const
  for (const law of EnvLaws.envLaws(makeEnv, options)) it.effect(law.name, () => law.check)
})
