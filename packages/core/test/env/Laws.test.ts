import { FunctionTool, Message, ToolEnv } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { EnvLaws, TestTokenizer } from "@effect-rl/core/testing"
import { describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

/** A tokenizer that splits text differently from a policy that samples single characters. */
const words = TestTokenizer.words(["lo", "ok", "call", "tool", " the"])

/** A cache, because the same conversations are encoded repeatedly. */
const encoded = new Map<string, Int32Array>()
const tokenizer: TestTokenizer.TestTokenizer = {
  ...words,
  encode: (text, options) => {
    const key = `${options?.splitSpecialTokens} ${text}`
    const tokens = encoded.get(key) ?? words.encode(text, options)
    encoded.set(key, tokens)
    return tokens.slice()
  }
}

const look = FunctionTool.make({
  name: "look",
  description: "Looks at a place.",
  parameters: Schema.Struct({ place: Schema.String }),
  handler: ({ place }) => place === "cellar" ? Effect.fail("too dark") : Effect.succeed(`an empty ${place}`)
})

const call = (name: string, args: string) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

const replies = [
  "I give up",
  call("look", `{"place":"tool shed"}`),
  call("look", `{"place": "cellar"}`) + call("listen", "{}"),
  call("look", `{"place": 7}`),
  "<tool_call>\nlook around\n</tool_call>",
  "<think>\nWhere?\n</think>\n\nNowhere."
] as const

const variants: ReadonlyArray<readonly [string, string, ToolEnv.Settings]> = [
  ["qwen3_instruct", "that continues after any reply", {
    onLength: "continue",
    terminateOnParseError: false,
    maxTurns: 6,
    maxTrajectoryTokens: 2000,
    execution: "sequential"
  }],
  ["qwen3_instruct", "that answers unreadable tool calls", {
    onLength: "continue",
    parseErrors: { maxConsecutive: 2, penaltyPerError: 0.1, maskErrorTurns: true },
    maxToolCalls: 3
  }],
  ["qwen3", "of a model whose reasoning later prompts leave out", {
    onLength: "continue",
    terminateOnParseError: false
  }]
]

describe.each(variants)("the laws of environments with %s, for a task with tools %s", (name, _, settings) => {
  const makeEnv = (seed: number) =>
    Effect.gen(function*() {
      const renderer = yield* Renderers.byName(name, tokenizer)
      return yield* ToolEnv.make({
        model: { renderer },
        tools: [look],
        messages: [Message.user(`Find key ${seed}.`)],
        grade: (messages) => Effect.succeed({ reward: messages.length % 3 }),
        ...settings
      })
    })
  const options = { tokenizer, vocabulary: tokenizer.vocabulary, replies, seeds: [0], turns: 5 }
  for (const law of EnvLaws.envLaws(makeEnv, options)) {
    it.effect(law.name, () => law.check)
  }
})
