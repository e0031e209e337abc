import { Message, MessageEnv, type MessageEnv as MessageEnvs, ProblemEnv, PromptEnv, ToolEnv } from "@effect-rl/core"
import { EnvLaws } from "@effect-rl/core/testing"
import { describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Agent from "./Agent.ts"
import * as Talk from "./Talk.ts"

const { tokenizer } = Talk

const keepsTheLaws = <E>(makeEnv: EnvLaws.MakeEnv<E, never>, replies: readonly [string, ...ReadonlyArray<string>]) => {
  for (const { check, name } of EnvLaws.envLaws(makeEnv, { tokenizer, vocabulary: tokenizer.vocabulary, replies })) {
    it.effect(name, () => check, 60_000)
  }
}

const model = Effect.map(Talk.qwen, (renderer) => ({ renderer }))

describe("a problem", () => {
  const makeEnv = (seed: number) =>
    Effect.map(model, (model) =>
      ProblemEnv.make({
        model,
        question: `${seed} + 1?`,
        referenceAnswer: String(seed + 1),
        checkAnswer: (text) => Effect.as(Effect.sleep("1 second"), text.trim() === String(seed + 1))
      }))
  keepsTheLaws(makeEnv, ["1", "2", "three"])
})

describe("a prompt without a reward of its own", () => {
  keepsTheLaws((seed) => Effect.map(model, (model) => PromptEnv.make(model, [Message.user(`Essay ${seed}`)])), [
    "Well."
  ])
})

class Insulted extends Schema.TaggedError<Insulted>()("Insulted", {}) {}

/** Repeats what it is told until it hears "bye". */
const parrot = (seed: number): MessageEnvs.MessageEnv<Insulted> => {
  let messages: MessageEnvs.Conversation = [Message.user(`Talk to parrot ${seed}`)]
  const add = (...more: MessageEnvs.Conversation) => (messages = [...messages, ...more])
  return {
    initialMessages: Effect.sync(() => messages),
    step: Effect.fnUntraced(function*(message) {
      yield* Effect.sleep("1 second")
      const text = Message.text(message)
      if (text.includes("stupid")) return yield* new Insulted()
      if (text.includes("bye")) return { _tag: "Done", reward: messages.length } as const
      return { _tag: "Continue", reward: 0, messages: add(message, Message.user(text)) } as const
    }),
    addMessages: (more) => Effect.sync(() => add(...more))
  }
}

describe("a conversation", () => {
  const makeEnv = (seed: number) => Effect.flatMap(model, (model) => MessageEnv.toEnv(parrot(seed), { model }))
  keepsTheLaws(makeEnv, ["hello", "bye", "stupid bird"])
})

describe("a task with tools", () => {
  const call = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {}}\n</tool_call>`
  const makeEnv = (seed: number) =>
    Effect.flatMap(model, (model) =>
      ToolEnv.make({
        model,
        tools: Agent.echo().tools,
        messages: [Message.user(`Task ${seed}`)],
        grade: (messages) => Effect.succeed({ reward: messages.length })
      }))
  keepsTheLaws(makeEnv, [`${call("echo")}\n${call("echo")}\n${call("echo")}`, call("halt"), call("nothing"), "done"])
})
