/** Reasoning modes, for which each dialect has its own fields. */
import * as Reasoning from "@effect-rl/agent/dialect/Reasoning"
import { Renderers } from "@effect-rl/core/renderers"
import type { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "./Service.ts"

const { chat, messages, responses } = Service

/** A model family with reasoning on and off. With `off`, the prompt closes the thinking block. */
const thinking = "Qwen/Qwen3-8B"
const closed = "<think>\n\n</think>"

/** A service that records the texts of its prompts. */
const recorded = Effect.fnUntraced(function*(options: Partial<Service.Options> = {}) {
  const prompts: Array<string> = []
  const say = Service.saying("Yes<|im_end|>")
  const sample: Script.SampleScript = (request, at) => {
    prompts.push(Service.shown(request.prompt))
    return say(request, at)
  }
  return { ...(yield* Service.make({ base: thinking, sample, ...options })), prompts }
})

const off = [
  [chat, { reasoning_effort: "none" }],
  [chat, { chat_template_kwargs: { enable_thinking: false } }],
  [responses, { reasoning: { effort: "none", summary: "auto" } }],
  [messages, { thinking: { type: "disabled" } }]
] as const

const usual = [
  [chat, {}],
  [chat, { chat_template_kwargs: { enable_thinking: true } }],
  [messages, { thinking: { type: "adaptive" } }],
  [messages, { thinking: { type: "enabled" } }]
] as const

const unheard = [
  [chat, { reasoning_effort: "low" }, "reasoning_effort"],
  [responses, { reasoning: { effort: "high" } }, "reasoning.effort"],
  [messages, { output_config: { effort: "max" } }, "output_config.effort"],
  [messages, { thinking: { type: "enabled", budget_tokens: 1024 } }, "thinking.budget_tokens"]
] as const

describe("reasoning", () => {
  it.effect("is in the renderer's default mode, or turned off", () =>
    Effect.gen(function*() {
      const { post, prompts } = yield* recorded()
      for (const [dialect, more] of [...off, ...usual]) {
        const { status } = yield* post(dialect.path, { ...dialect.conversation, ...more })
        assert.strictEqual(status, 200)
      }
      assert.deepStrictEqual(prompts.map((prompt) => prompt.includes(closed)), [
        ...off.map(() => true),
        ...usual.map(() => false)
      ])
    }))

  it.effect("counts the prompt tokens of the requested mode", () =>
    Effect.gen(function*() {
      const { post } = yield* recorded()
      const count = (more: object) =>
        Effect.map(
          post("/messages/count_tokens", { messages: [{ role: "user", content: "Hi" }], ...more }),
          ({ body }) => body["input_tokens"]
        )
      const [reasoning, silent] = [yield* count({}), yield* count({ thinking: { type: "disabled" } })]
      assert.isAbove(silent, reasoning)
    }))

  it.effect("is refused with the field's name if the renderer lacks the mode", () =>
    Effect.gen(function*() {
      const { post } = yield* recorded()
      for (const [dialect, more, field] of unheard) {
        const { body, status } = yield* post(dialect.path, { ...dialect.conversation, ...more })
        assert.strictEqual(status, 422)
        assert.include(dialect.message(body), field)
      }
      const odd = yield* post(chat.path, { ...chat.conversation, reasoning_effort: "much" })
      assert.include(chat.message(odd.body), "reasoning_effort is \"much\", expected one of none, minimal, low")
    }))

  it.effect("falls back to the default mode for a lenient caller, with a warning", () =>
    Effect.gen(function*() {
      const { post, prompts } = yield* recorded({ isLenient: true })
      for (const [dialect, more, field] of unheard) {
        const { body } = yield* post(dialect.path, { ...dialect.conversation, ...more })
        assert.include(dialect.warnings(body)[0], field)
      }
      assert.isFalse(prompts.some((prompt) => prompt.includes(closed)))
    }))

  it.effect("can be turned off for a model that does not reason", () =>
    Effect.gen(function*() {
      const { post } = yield* recorded({ base: Service.instruct })
      for (const [dialect, more] of off) {
        assert.strictEqual((yield* post(dialect.path, { ...dialect.conversation, ...more })).status, 200)
      }
    }))

  it("maps every mode to an existing renderer that itself has modes", () => {
    const efforts = ["on", "off", "low", "medium", "high", "max"] as const
    const family = (name: string) => efforts.flatMap((effort) => Reasoning.rendererOf(name, effort) ?? [])
    for (const name of Renderers.names) {
      for (const other of family(name)) {
        assert.include(Renderers.names, other)
        assert.isNotEmpty(family(other))
      }
    }
    assert.strictEqual(Reasoning.rendererOf("gpt_oss_low_reasoning", "high"), "gpt_oss_high_reasoning")
    assert.strictEqual(Reasoning.rendererOf("qwen3_5_preserve_thinking", "on"), "qwen3_5_preserve_thinking")
    assert.strictEqual(Reasoning.rendererOf("deepseekv3", "on"), "deepseekv3_thinking")
    assert.isUndefined(Reasoning.rendererOf("llama3", "on"))
  })
})
