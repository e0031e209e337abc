import { Message, Rollout, Tool, ToolEnv } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Talk from "./Talk.ts"

const add = Tool.make({
  name: "add",
  description: "Adds two numbers.",
  parameters: Schema.Struct({ a: Schema.Int, b: Schema.Int }),
  handler: ({ a, b }) => Effect.succeed(String(a + b))
})

const call = (name: string, args: string) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

describe("a task with tools", () => {
  it.effect("shows the policy what its calls gave until it calls no more", () =>
    Effect.gen(function*() {
      const renderer = yield* Talk.qwen
      const policy = Talk.policy(Talk.said(call("add", `{"a":1,"b":2}`)), Talk.said("It is 3."))
      const env = yield* ToolEnv.make({
        model: { renderer },
        tools: [add],
        messages: [Message.user("1+2?")],
        grade: (messages) => Effect.succeed({ reward: messages.at(-1)?.content === "It is 3." ? 1 : 0 })
      })
      const trajectory = yield* Rollout.episode(env, policy, Talk.key)
      assert.strictEqual(trajectory.stepReward, 1)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
      const [first = "", second = ""] = policy.requests.map(({ prompt }) => Talk.text(prompt))
      assert.include(first, `{"type": "function", "function": {"name": "add", "description": "Adds two numbers."`)
      assert.isTrue(second.startsWith(first + call("add", `{"a":1,"b":2}`)), "as it was sampled, spaces and all")
      assert.include(second.slice(first.length), "<tool_response>\n3\n</tool_response>")
    }))
})
