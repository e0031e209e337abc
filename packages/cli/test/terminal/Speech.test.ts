import * as Speech from "@effect-rl/cli/terminal/Speech"
import * as Style from "@effect-rl/cli/terminal/Style"
import type { ResponseStream } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"

const deltas: ReadonlyArray<ResponseStream.Delta> = [
  { _tag: "Thinking", part: 0, thinking: "2 and " },
  { _tag: "Thinking", part: 0, thinking: "3" },
  { _tag: "Text", part: 1, text: "I \u001b[2Jadd" },
  { _tag: "Text", part: 1, text: "." },
  { _tag: "ToolCall", toolCall: { function: { name: "add", arguments: "{\"a\":2}" } } },
  { _tag: "UnparsedToolCall", unparsedToolCall: { rawText: "{oops", error: "no JSON" } }
]

describe("a model's printed answer", () => {
  it("is escaped plain text, with reasoning and tool calls on their own lines", () => {
    assert.deepStrictEqual(Speech.text(deltas, Style.plain).split("\n"), [
      "thinking: 2 and 3",
      "I \\u{1b}[2Jadd.",
      "call add({\"a\":2})",
      "unreadable call (no JSON) {oops"
    ])
  })

  it("has dimmed reasoning on a terminal with colours", () => {
    const { dim } = Style.colored
    assert.strictEqual(
      Speech.text(deltas.slice(0, 3), Style.colored),
      `${dim("thinking: ")}${dim("2 and ")}${dim("3")}\nI \\u{1b}[2Jadd`
    )
  })
})
