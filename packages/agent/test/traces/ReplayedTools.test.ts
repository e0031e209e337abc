import { ReplayedTools } from "@effect-rl/agent/traces"
import { Message, Rollout, ToolEnv } from "@effect-rl/core"
import type { OpenAi } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Talk from "../episode/Talk.ts"

const call = (id: string, name: string, text: string) => ({ id, function: { name, arguments: text } })

const result = (id: string, content: string): Message.Message => ({ role: "tool", toolCallId: id, content })

const conversation: OpenAi.Conversation = {
  tools: [{ name: "depth", description: "Depth.", parameters: { type: "object", properties: {} } }],
  messages: [
    Message.system("You look."),
    Message.user("How deep are the lakes?"),
    {
      ...Message.assistant(""),
      toolCalls: [
        call("a", "depth", "{\"lake\": \"Ohrid\", \"unit\": \"m\"}"),
        call("b", "depth", "{\"lake\":\"Prespa\"}")
      ]
    },
    result("b", "54"),
    result("a", "288"),
    { ...Message.assistant(""), toolCalls: [call("c", "next", "{}")] },
    result("c", "one"),
    { ...Message.assistant(""), toolCalls: [call("d", "next", "{}")] },
    result("d", "two"),
    Message.assistant("288 and 54")
  ]
}

const called = (tools: Effect.Success<ReturnType<typeof ReplayedTools.make>>, name: string, text: string) =>
  tools.find(({ spec }) => spec.name === name)?.call(text) ?? assert.fail(`no tool ${name}`)

describe("ReplayedTools", () => {
  it.effect("answer recorded calls as recorded, whatever the order and spacing of their arguments", () =>
    Effect.gen(function*() {
      const tools = yield* ReplayedTools.make([conversation])
      assert.deepStrictEqual(tools.map(({ spec }) => spec.name), ["depth", "next"])
      for (const text of ["{\"lake\": \"Ohrid\", \"unit\": \"m\"}", "{ \"unit\":\"m\",\"lake\":\"Ohrid\" }"]) {
        assert.deepStrictEqual(yield* called(tools, "depth", text), { content: "288" })
      }
      assert.deepStrictEqual(yield* called(tools, "depth", "{\"lake\": \"Prespa\"}"), { content: "54" })
    }))

  it.effect("fail with the call if it was not recorded, or if its answers differ and are used up", () =>
    Effect.gen(function*() {
      const tools = yield* ReplayedTools.make([conversation])
      const unseen = yield* Effect.flip(called(tools, "depth", "{\"lake\": \"Bled\"}"))
      assert.deepStrictEqual(
        unseen,
        new ReplayedTools.UnrecordedCall({ tool: "depth", arguments: "{\"lake\": \"Bled\"}", recorded: 0 })
      )
      assert.deepStrictEqual(yield* called(tools, "next", "{}"), { content: "one" })
      assert.deepStrictEqual(yield* called(tools, "next", ""), { content: "two" })
      assert.strictEqual((yield* Effect.flip(called(tools, "next", "{}"))).recorded, 2)
      const others = yield* ReplayedTools.make([conversation])
      assert.deepStrictEqual(yield* called(others, "next", "{}"), { content: "one" })
    }))

  it.effect("tell the policy of an unrecorded call on request", () =>
    Effect.gen(function*() {
      const tools = yield* ReplayedTools.make([conversation], "tell")
      const { content, failure } = yield* called(tools, "depth", "{}")
      assert.strictEqual(failure, "execution_failed")
      assert.include(String(content), "depth({}) was not recorded")
    }))

  it.effect("make a task whose prompt and answers are those of the session", () =>
    Effect.gen(function*() {
      const model = yield* Talk.modelOf("qwen3_instruct")
      const task = yield* ReplayedTools.task(conversation)
      const seen: Array<ReadonlyArray<Message.Message>> = []
      const env = yield* ToolEnv.make({
        ...task,
        model,
        grade: (messages) => Effect.sync(() => ({ reward: seen.push(messages) }))
      })
      const says = conversation.messages.flatMap(({ content, role, toolCalls = [] }) =>
        role !== "assistant" ? [] : [
          [
            String(content),
            ...toolCalls.map(({ function: { arguments: text, name } }) =>
              `<tool_call>\n{"name": "${name}", "arguments": ${text}}\n</tool_call>`
            )
          ].filter((text) => text !== "").join("\n")
        ]
      )
      const { transitions } = yield* Rollout.episode(env, Talk.saying(...says).policy, Talk.key)
      assert.lengthOf(transitions, 4)
      const results = (messages: ReadonlyArray<Message.Message>) =>
        messages.filter(({ role }) => role === "tool").map(Message.text)
      assert.deepStrictEqual(seen.map(results), [["288", "54", "one", "two"]])
      assert.strictEqual(task.reference, "288 and 54")
      assert.strictEqual(task.systemPrompt, "You look.")
    }).pipe(Effect.scoped))

  it.effect("fail the attempt of an environment at an unrecorded call, with its type", () =>
    Effect.gen(function*() {
      const model = yield* Talk.modelOf("qwen3_instruct")
      const env = yield* ToolEnv.make({
        ...(yield* ReplayedTools.task(conversation)),
        model,
        grade: () => Effect.succeed({ reward: 1 })
      })
      const { policy } = Talk.saying(
        "<tool_call>\n{\"name\": \"depth\", \"arguments\": {\"lake\": \"Bled\"}}\n</tool_call>"
      )
      const error = yield* Effect.flip(Rollout.episode(env, policy, Talk.key))
      assert.include(String(error), "depth({\"lake\": \"Bled\"}) was not recorded")
    }).pipe(Effect.scoped))
})
