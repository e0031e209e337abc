import { Message } from "@effect-rl/core"
import { HeldResponse } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Families from "../renderers/Families.ts"

const messages = [Message.user("2 + 2?")]

const add = { name: "add", description: "", parameters: { type: "object", properties: { a: { type: "integer" } } } }

const tools = [{ spec: add, isStrict: true }]

const modelOf = (renderer: string, sampling: ReadonlyArray<string> = ["grammar"]) =>
  Effect.map(Families.make(renderer), (made) => ({
    name: "m",
    tokenizer: Families.tokenizerOf(renderer),
    renderer: made,
    capabilities: { sampling }
  }))

const reasonOf = <A>(held: Result.Result<A, string>) => Result.isFailure(held) ? held.failure : "held"

const forced = { tools, isForced: true, isOne: true }

describe("HeldResponse", () => {
  it.effect("constrains calls if the family writes them as JSON, otherwise returns the reason", () =>
    Effect.gen(function*() {
      const held: Array<string> = []
      for (const name of Families.names) {
        const reason = reasonOf(yield* HeldResponse.calls(yield* modelOf(name), messages, forced))
        if (reason === "held") held.push(name)
        else assert.strictEqual(reason, `the renderer ${name} writes calls in a form that no grammar can enforce`)
      }
      assert.deepStrictEqual(held, [
        "llama3_tools",
        "qwen3",
        "qwen3_disable_thinking",
        "qwen3_instruct",
        "qwen3_vl",
        "qwen3_vl_instruct"
      ])
    }))

  it.effect("allows only one call and its stop if the call is forced", () =>
    Effect.gen(function*() {
      const { calls, jsonSchema } = yield* Effect.fromResult(
        yield* HeldResponse.calls(yield* modelOf("qwen3_instruct"), messages, forced)
      )
      assert.deepStrictEqual(calls, {
        open: "<tool_call>\n",
        close: "\n</tool_call>",
        marks: ["<tool_call>", "</tool_call>"],
        hasText: false
      })
      assert.deepStrictEqual(Object.keys(jsonSchema ?? {}), ["anyOf"])
    }))

  it.effect("is refused without grammars, with a prefill, for calls that may look like text, and for a value after reasoning", () =>
    Effect.gen(function*() {
      const instruct = yield* modelOf("qwen3_instruct")
      const calls = (model: HeldResponse.Model, conversation = messages, isForced = true) =>
        Effect.map(HeldResponse.calls(model, conversation, { ...forced, isForced }), reasonOf)
      assert.strictEqual(yield* calls(yield* modelOf("qwen3_instruct", [])), "the backend has no grammars for m")
      assert.include(yield* calls(instruct, [...messages, Message.assistant("So")]), "leave out its beginning")
      assert.include(yield* calls(yield* modelOf("llama3_tools"), messages, false), "begin like other text")
      assert.strictEqual(yield* calls(instruct, messages, false), "held")
      const schema = { type: "object" }
      assert.strictEqual(reasonOf(yield* HeldResponse.value(instruct, messages, schema)), "held")
      const thinking = yield* modelOf("qwen3_5")
      assert.include(reasonOf(yield* HeldResponse.value(thinking, messages, schema)), "as reasoning")
    }))
})
