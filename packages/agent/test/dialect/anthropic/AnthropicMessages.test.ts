import * as AnthropicMessages from "@effect-rl/agent/dialect/anthropic/AnthropicMessages"
import { assert, describe, it } from "@effect/vitest"

const use = (id: string) => ({ type: "tool_use", id, name: "add", input: { a: 1 } }) as const
const result = { type: "tool_result", tool_use_id: "1", content: "2" } as const
const text = { type: "text", text: "And?" } as const

describe("AnthropicMessages", () => {
  it("name the tools that a client's tool search has found", () => {
    const found = ["WebFetch", "Todo"].map((tool_name) => ({ type: "tool_reference", tool_name }) as const)
    const content = [{ type: "tool_result", tool_use_id: "1", content: found }] as const
    assert.deepStrictEqual(AnthropicMessages.toMessages({ model: "any", messages: [{ role: "user", content }] }), [
      { role: "tool", content: "WebFetch\nTodo\n", toolCallId: "1" }
    ])
  })

  it("keep text and calls of a message together, and put tool results before the text next to them", () => {
    assert.deepStrictEqual(
      AnthropicMessages.toMessages({
        model: "any",
        messages: [
          { role: "assistant", content: [text, use("1")] },
          { role: "user", content: [text, result] },
          { role: "user", content: [result] },
          { role: "assistant", content: [text] },
          { role: "user", content: "Hi" }
        ]
      }),
      [
        {
          role: "assistant",
          content: [text],
          toolCalls: [{ id: "1", function: { name: "add", arguments: `{"a":1}` } }]
        },
        { role: "tool", content: "2", toolCallId: "1", name: "add" },
        { role: "user", content: [text] },
        { role: "tool", content: "2", toolCallId: "1", name: "add" },
        { role: "assistant", content: [text] },
        { role: "user", content: "Hi" }
      ]
    )
  })

  it("keep a message without text and calls, because an answer may be empty", () => {
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [] },
      { role: "user", content: "Are you there?" }
    ] as const
    assert.deepStrictEqual(AnthropicMessages.toMessages({ model: "any", messages }), messages)
  })
})
