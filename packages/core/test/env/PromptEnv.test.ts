import { Message, Rollout } from "@effect-rl/core"
import { PromptEnv } from "@effect-rl/core/environments"
import { EnvLaws } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Talk from "./Talk.ts"

const model = Effect.map(Talk.qwen, (renderer) => ({ renderer }))

const play = (said: ReturnType<typeof Talk.said> | ReturnType<typeof Talk.cut>) =>
  Effect.gen(function*() {
    const env = PromptEnv.make(yield* model, [Message.user("Hi")])
    return yield* Rollout.episode(env, Talk.policy(said), Talk.key)
  })

describe("PromptEnv.make", () => {
  it.effect("gives no reward of its own", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* play(Talk.said("Hello"))
      assert.strictEqual(stepReward, 0)
      assert.deepStrictEqual(stopReason, Option.some("completed"))
      assert.deepStrictEqual(transitions.map(({ score }) => score), [{ value: 0, answer: "Hello" }])
    }))

  it.effect("reports that an answer was cut", () =>
    Effect.map(
      play(Talk.cut("Hel")),
      ({ stopReason }) => assert.deepStrictEqual(stopReason, Option.some("max_tokens"))
    ))
})

describe("PromptEnv.answer", () => {
  it.effect("returns the message and how it ended", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* PromptEnv.answer(yield* model, yield* play(Talk.said("Hello"))), {
        message: Message.assistant("Hello"),
        termination: "stop_sequence"
      })
    }))

  it.effect("is empty and malformed if there was no response", () =>
    Effect.gen(function*() {
      const silent = { transitions: [], stepReward: 0, stopReason: Option.some("max_tokens"), truncations: 0 } as const
      assert.deepStrictEqual(yield* PromptEnv.answer(yield* model, silent), {
        message: Message.assistant(""),
        termination: "malformed"
      })
    }))
})

describe("PromptEnv laws", () => {
  const makeEnv = () => Effect.map(Effect.orDie(model), (model) => PromptEnv.make(model, [Message.user("Hi")]))
  const options = { tokenizer: Talk.tokenizer, vocabulary: Talk.tokenizer.vocabulary, replies: ["Hello", ""] } as const
  for (const law of EnvLaws.envLaws(makeEnv, options)) it.effect(law.name, () => law.check)
})
