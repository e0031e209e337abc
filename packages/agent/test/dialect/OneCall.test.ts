/** Replies that end after their first tool call, in each dialect. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "./Service.ts"

const call = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"a": 1}}\n</tool_call>`
const two = `Adding.${call("add")}\n${call("mul")}<|im_end|>`

/** How each dialect requests at most one call per reply. */
const asked = {
  chat: { parallel_tool_calls: false },
  responses: { parallel_tool_calls: false },
  messages: { tool_choice: { type: "auto", disable_parallel_tool_use: true } }
}

describe("a reply with parallel tool calls", () => {
  for (const [name, dialect] of Object.entries(Service.dialects)) {
    const tools = ["add", "mul"].map((tool) => dialect.tool(tool, { type: "object" }))
    const body = { ...dialect.conversation, tools }
    const one = { ...body, ...asked[name as keyof typeof asked] }

    it.effect(`${name}: ends after its first call if one at a time is requested, whole and streamed`, () =>
      Effect.gen(function*() {
        const { post } = yield* Service.make({ sample: Service.saying(two) })
        assert.deepStrictEqual(dialect.calls((yield* post(dialect.path, body)).body), ["add", "mul"])
        const whole = (yield* post(dialect.path, one)).body
        assert.deepStrictEqual(dialect.calls(whole), ["add"])
        assert.strictEqual(dialect.sampled(whole), `Adding.${call("add")}`.length)
        const events = Service.events(yield* post(dialect.path, { ...one, stream: true }))
        assert.deepStrictEqual(dialect.streamedCalls(events), ["add"])
      }))
  }

  it.effect("chat: has finish_reason tool_calls if it was cut after its first call", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: Service.saying(two) })
      const tools = [Service.chat.tool("add", { type: "object" })]
      const { body } = yield* post(Service.chat.path, { ...Service.chat.conversation, tools, ...asked.chat })
      assert.strictEqual(body["choices"][0].finish_reason, "tool_calls")
    }))
})
