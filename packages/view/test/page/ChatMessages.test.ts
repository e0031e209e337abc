import type { Entry } from "@effect-rl/view"
import * as ChatMessages from "@effect-rl/view/page/ChatMessages"
import { assert, describe, it } from "@effect/vitest"

const turn = (fields: Partial<Entry.TurnView>): Entry.TurnView => ({
  prompt: [],
  tokens: [],
  promptPieces: null,
  pieces: null,
  said: null,
  message: null,
  logprobs: [],
  stopReason: "stop",
  reward: 0,
  trainable: true,
  metrics: {},
  logs: {},
  fork: null,
  times: null,
  credit: { masked: null, advantages: [], trainer: null, loss: null },
  ...fields
})

const call = { id: "call_0", type: "function", function: { name: "add", arguments: "{\"a\":2}" } } as const

const pieces = (...texts: ReadonlyArray<string>) => texts.map((text) => ({ text, isSpecial: false }))

describe("a transcript as OpenAI's messages", () => {
  it("has tool calls and their answers", () => {
    const turns = [
      turn({
        logs: { question: "2 + 3?", tool_result_0: "5" },
        message: { role: "assistant", content: "", tool_calls: [call] }
      }),
      turn({
        promptPieces: pieces("<tool_response>5</tool_response>"),
        message: { role: "assistant", content: "It is 5." }
      })
    ]
    assert.deepStrictEqual(ChatMessages.of(turns), [
      { role: "user", content: "2 + 3?" },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", content: "5", name: "add", tool_call_id: "call_0" },
      { role: "assistant", content: "It is 5." }
    ])
  })

  it("has only the new part of a later prompt, and all of a prompt after a fork", () => {
    const first = turn({
      prompt: [1],
      tokens: [2],
      promptPieces: pieces("guess"),
      message: { role: "assistant", content: "7" }
    })
    const next = (prompt: ReadonlyArray<number>, ...texts: ReadonlyArray<string>) =>
      turn({ prompt, promptPieces: pieces(...texts), logs: { response: "8" } })
    const said = (second: Entry.TurnView) => ChatMessages.of([first, second]).map(({ content }) => content)
    assert.deepStrictEqual(said(next([1, 2, 3], "guess", "7", "too low")), ["guess", "7", "too low", "8"])
    assert.deepStrictEqual(said(next([9, 3], "begin anew, ", "too low")), ["guess", "7", "begin anew, too low", "8"])
  })
})
