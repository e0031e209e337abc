import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch, type Trajectory } from "@effect-rl/core/environments"
import { Conversation } from "@effect-rl/core/records"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"

const turn = (
  prompt: ReadonlyArray<number>,
  tokens: ReadonlyArray<number>,
  logs: Trajectory.Transition["logs"] = {}
): Trajectory.Transition => ({
  observation: ModelInput.fromTokens(prompt),
  action: { tokens: Int32Array.from(tokens), logprobs: new Float32Array(tokens.length), stopReason: "stop" },
  reward: 0,
  trainable: true,
  metrics: {},
  logs
})

const episode = (...transitions: ReadonlyArray<Trajectory.Transition>): Trajectory.Trajectory => ({
  transitions,
  stepReward: 0,
  stopReason: Option.none(),
  truncations: 0
})

const add = { function: { name: "add", arguments: "{\"a\":2}" } }

const words = (tokens: ArrayLike<number>) => Array.from(tokens, (token) => `w${token}`).join(" ")

const { characters } = TestTokenizer

/** An episode with these prompts and responses. Each prompt starts with everything shown and said before. */
const spoken = (
  texts: ReadonlyArray<readonly [shown: string, said: string]>,
  logs: Trajectory.Transition["logs"] = {}
) => {
  let known = ""
  return episode(...texts.map(([shown, said]) => {
    const prompt = known + shown
    known = prompt + said
    return turn([...characters.encode(prompt)], [...characters.encode(said)], logs)
  }))
}

describe("Conversation", () => {
  it("has the question, the logged texts and the judged answer, with tool calls and their results", () => {
    const called = { assistant_content: "", tool_call_0: "add({\"a\":2})", tool_result_0: "5", score: 1 }
    const answered = { ...turn([], []), score: { value: 1, answer: "It is 5." } }
    const asked = { ...episode(turn([], [], called), answered), task: { question: "2 + 3?", reference: "5" } }
    const turns = Conversation.make(asked, [])
    assert.deepStrictEqual(Conversation.messages(turns), [
      Message.user("2 + 3?"),
      { ...Message.assistant(""), toolCalls: [add] },
      { role: "tool", content: "5", name: "add" },
      Message.assistant("It is 5.")
    ])
    assert.deepStrictEqual(turns[0]?.tools, [{ name: "add", arguments: "{\"a\":2}", result: "5" }])
    assert.deepStrictEqual(Conversation.toOpenAi(turns)[2], {
      role: "tool",
      content: "5",
      name: "add",
      tool_call_id: "call_0"
    })
  })

  it("has a response as the environment parsed it", () => {
    const said: Message.Message = {
      role: "assistant",
      content: [{ type: "thinking", thinking: "2 and 3" }, { type: "text", text: "so" }],
      toolCalls: [add]
    }
    const turns = Conversation.make(episode({ ...turn([], []), said }), [])
    assert.deepStrictEqual(turns.map(({ said }) => said), [said])
    assert.isTrue(Conversation.isLogged({ ...turn([], []), said }))
  })

  it("has the last tool results, which no later turn showed", () => {
    const last = turn([], [], { assistant_content: "", tool_call_0: "stop({})", tool_result_0: "done" })
    const messages = Conversation.messages(Conversation.make(episode(last), []))
    assert.deepStrictEqual(messages.at(-1), { role: "tool", content: "done", name: "stop" })
  })

  it("has only the new part of a later prompt, and a whole prompt that starts again", () => {
    const texts = (second: ReadonlyArray<number>) =>
      Conversation.messages(Conversation.make(episode(turn([1], [2]), turn(second, [8])), [], words))
        .map((message) => message.content)
    assert.deepStrictEqual(texts([1, 2, 3]), ["w1", "w2", "w3", "w8"])
    assert.deepStrictEqual(texts([9, 3]), ["w1", "w2", "w9 w3", "w8"])
  })

  it("has the recorded messages of the environment, and finds the tool results in them", () => {
    const asked = [Message.system("Be brief."), Message.user("2 + 3?")]
    const answer: Message.Message = { role: "tool", content: "5", toolCallId: "call_1" }
    const calls = { ...Message.assistant(""), toolCalls: [{ id: "call_1", ...add }] }
    const whole = episode(
      { ...turn([1], [2]), shown: { messages: asked } },
      { ...turn([1, 2, 3], [4]), shown: { messages: [answer] } }
    )
    const turns = Conversation.make({ ...whole, task: { question: "2 + 3?" } }, [calls, Message.assistant("5")], words)
    assert.deepStrictEqual(turns.map(({ shown }) => shown), [asked, [answer]])
    assert.deepStrictEqual(turns[0]?.tools, [{ name: "add", arguments: "{\"a\":2}", result: "5" }])
  })

  it("has what a branch adds to its parent turn, and a restarted conversation completely", () => {
    const said = (text: string) => Message.assistant(text)
    const branches = episode(
      { ...turn([1], [2]), shown: { messages: [Message.user("plan")] } },
      { ...turn([1, 2, 3], [4]), shown: { messages: [Message.user("left")] } },
      {
        ...turn([1, 2, 5], [6]),
        shown: { messages: [Message.user("right")] },
        branch: { after: 0, reason: "parallel" }
      },
      { ...turn([7], [8]), shown: { kept: 1, messages: [Message.user("brief")] }, branch: Branch.anew("compaction") }
    )
    const turns = Conversation.make(branches, ["a", "b", "c", "d"].map(said))
    assert.deepStrictEqual(turns.map(({ shown }) => shown.map(Message.text)), [
      ["plan"],
      ["left"],
      ["right"],
      ["plan", "brief"]
    ])
  })

  it("omits what a re-rendered prompt repeats, unless full turns are requested", () => {
    const [asked, again] = [Message.user("guess"), Message.user("too low")]
    const said = (text: string) => ({ ...turn([], []), said: Message.assistant(text) })
    const turns = Conversation.make(
      episode(
        { ...said("6"), shown: { kept: 0, messages: [asked] } },
        { ...said("9"), shown: { kept: 2, messages: [again] }, branch: Branch.anew("edit") }
      ),
      []
    )
    assert.deepStrictEqual(Conversation.messages(turns), [asked, Message.assistant("6"), again, Message.assistant("9")])
    assert.deepStrictEqual(Conversation.lengths(turns), [1, 3])
    assert.deepStrictEqual(
      Conversation.toOpenAiTurns(turns).map(({ said, shown }) => [...shown, ...said].map(({ content }) => content)),
      [["guess", "6"], ["guess", "6", "too low", "9"]]
    )
  })

  it("counts unreadable tokens", () => {
    const turns = Conversation.make(episode(turn([1], [2, 3])), [])
    assert.deepStrictEqual(turns, [{ offered: [], shown: [], said: Message.assistant("(2 tokens)"), tools: [] }])
  })

  it.effect("parses system, user, reasoning, calls and results from a template's tokens", () =>
    Effect.gen(function*() {
      const { parse } = yield* Renderers.byName("qwen3", characters)
      const language = { decode: characters.decode, parse }
      const call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call><|im_end|>"
      const [first, second] = yield* Conversation.read(
        spoken([
          [
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2 + 3?<|im_end|>\n<|im_start|>assistant\n",
            `<think>\nI add.\n</think>\n\n${call}`
          ],
          [
            "\n<|im_start|>user\n<tool_response>\n5\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
            "It is 5.<|im_end|>"
          ]
        ]),
        language
      )
      if (first === undefined || second === undefined) return assert.fail("no two turns")
      assert.deepStrictEqual(first.shown, [Message.system("Be brief."), Message.user("2 + 3?")])
      assert.strictEqual(Message.thinking(first.said).trim(), "I add.")
      assert.strictEqual(first.tools[0]?.name, "add")
      assert.strictEqual(second.shown[0]?.role, "user")
      assert.include(Conversation.shownText(second), "<tool_response>\n5\n</tool_response>")
      assert.strictEqual(Conversation.text(second.said), "It is 5.")
    }))

  it.effect("takes tool results from the logs and other messages from the next prompt", () =>
    Effect.gen(function*() {
      const { parse } = yield* Renderers.byName("qwen3", characters)
      const call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call><|im_end|>"
      const shown = "\n<|im_start|>user\n<tool_response>\n5\n</tool_response><|im_end|>\n<|im_start|>user\nGo on."
      const turns = yield* Conversation.read(
        spoken([["q", call], [`${shown}<|im_end|>\n<|im_start|>assistant\n`, "5<|im_end|>"]], { tool_result_0: "5" }),
        { decode: characters.decode, parse }
      )
      assert.deepStrictEqual(turns[1]?.shown.map(({ content, role }) => [role, content]), [
        ["tool", "5"],
        ["user", "Go on."]
      ])
    }))

  it.effect("keeps an unreadable call as plain text", () =>
    Effect.gen(function*() {
      const { parse } = yield* Renderers.byName("qwen3", characters)
      const turns = yield* Conversation.read(
        spoken([["q", "<tool_call>\n{\"name\": add}\n</tool_call><|im_end|>"]]),
        { decode: characters.decode, parse }
      )
      assert.include(JSON.stringify(Conversation.toOpenAi(turns)), "{\\\"name\\\": add}")
    }))
})
