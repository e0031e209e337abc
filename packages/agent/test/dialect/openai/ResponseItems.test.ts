import * as ResponseItems from "@effect-rl/agent/dialect/openai/ResponseItems"
import { assert, describe, it } from "@effect/vitest"

const user = { role: "user", content: "Hi" } as const
const reasoning = { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Why?" }] } as const
const said = { role: "assistant", content: "I add." } as const
const call = (id: string) => ({ type: "function_call", call_id: id, name: "add", arguments: "{}" }) as const
const result = { type: "function_call_output", call_id: "1", output: "2" } as const

const toolCall = (id: string) => ({ id, function: { name: "add", arguments: "{}" } })

describe("ResponseItems", () => {
  it("merge adjacent assistant reasoning, text and calls into one message", () => {
    const [first, ...rest] = [user, reasoning, said, call("1"), call("2"), result]
    assert.deepStrictEqual(ResponseItems.toMessages([first, ...rest]), [
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        reasoning_content: "Why?",
        content: "I add.",
        tool_calls: [toolCall("1"), toolCall("2")]
      },
      { role: "tool", tool_call_id: "1", content: "2" }
    ])
  })

  it("keep all calls of two adjacent messages, and both texts as separate messages", () => {
    assert.deepStrictEqual(ResponseItems.toMessages([call("1"), call("2"), said, said]), [
      { role: "assistant", tool_calls: [toolCall("1"), toolCall("2")], content: "I add." },
      { role: "assistant", content: "I add." }
    ])
    assert.deepStrictEqual(ResponseItems.toMessages([call("1"), call("2")]), [
      { role: "assistant", tool_calls: [toolCall("1"), toolCall("2")] }
    ])
  })

  it("begin with the instructions", () => {
    assert.deepStrictEqual(ResponseItems.toMessages([user], "Be brief."), [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" }
    ])
  })
})
