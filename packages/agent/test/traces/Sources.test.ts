/** Files as tools wrote them: the spans are the AI SDK's, the sessions have the rows of Claude Code and Pi. */
import { Traces } from "@effect-rl/agent/traces"
import { Message } from "@effect-rl/core"
import { OpenAi } from "@effect-rl/core/renderers"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Recording from "./Recording.ts"

const fixture = (name: string) => new URL(`fixtures/${name}`, import.meta.url).pathname

const load = (...files: ReadonlyArray<string>) => Effect.provide(Traces.load(files), NodeServices.layer)

const messagesOf = ({ conversations }: Traces.Loaded): ReadonlyArray<ReadonlyArray<unknown>> =>
  conversations.map(({ messages }) => OpenAi.fromMessages(messages))

const call = (id: string, name: string, input: object) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(input) }
})

describe("spans of the AI SDK", () => {
  const conversation = [
    { role: "system", content: "Answer with a number." },
    { role: "user", content: "How deep is Ohrid?" },
    { role: "assistant", content: "I look.", tool_calls: [call("call_1", "depth", { lake: "Ohrid" })] },
    { role: "tool", content: "288 m", tool_call_id: "call_1", name: "depth" },
    { role: "assistant", content: "288" }
  ]

  for (const name of ["ai-sdk.jsonl", "ai-sdk-legacy.jsonl"]) {
    it.effect(`become conversations with their tools (${name})`, () =>
      Effect.gen(function*() {
        const loaded = yield* load(fixture(name))
        assert.deepStrictEqual(messagesOf(loaded), [conversation])
        const parameters = { type: "object", properties: { lake: { type: "string" } } }
        assert.deepStrictEqual(loaded.conversations[0]?.tools, [{ name: "depth", description: "Depth.", parameters }])
      }))
  }

  it.effect("become one conversation if a log has them in both forms", () =>
    Effect.gen(function*() {
      const { conversations } = yield* load(fixture("ai-sdk.jsonl"), fixture("ai-sdk-legacy.jsonl"))
      assert.lengthOf(conversations, 1)
    }))

  it.effect("fail with the attribute that cannot be read", () =>
    Effect.gen(function*() {
      const [first = ""] = readFileSync(fixture("ai-sdk.jsonl"), "utf8").split("\n")
      const { message } = yield* Effect.flip(
        load(yield* Recording.file(first.replace("\\\"parts\\\"", "\\\"pieces\\\"")))
      )
      assert.include(message, "gen_ai.input.messages")
      assert.include(message, "parts")
    }))
})

describe("sessions of Claude Code", () => {
  const before = [
    { role: "user", content: "How deep are the lakes?" },
    {
      role: "assistant",
      content: "",
      reasoning_content: "Two files.",
      tool_calls: [
        call("t1", "Read", { file_path: "/work/lakes/ohrid.txt" }),
        call("t2", "Read", { file_path: "/work/lakes/prespa.txt" })
      ]
    },
    { role: "tool", content: "288 m", tool_call_id: "t1", name: "Read" },
    { role: "tool", content: "54 m", tool_call_id: "t2", name: "Read" },
    { role: "assistant", content: "288 m and 54 m." }
  ]

  it.effect("become a conversation for each branch of the session, with parallel calls and their results", () =>
    Effect.gen(function*() {
      const loaded = yield* load(fixture("claude-code.jsonl"))
      assert.deepStrictEqual(messagesOf(loaded), [
        [...before, { role: "user", content: "In feet?" }, { role: "assistant", content: "945 ft and 177 ft." }],
        [...before, { role: "user", content: "In fathoms?" }, { role: "assistant", content: "157 and 30." }]
      ])
      assert.strictEqual(loaded.report.rows, 15)
    }))

  it.effect("end at the last answer whose calls have results, and with `skip` without rows that cannot be read", () =>
    Effect.gen(function*() {
      const lines = readFileSync(fixture("claude-code.jsonl"), "utf8").trimEnd().split("\n")
      const withoutResult = lines.filter((line) => !line.includes("\"uuid\":\"r1\""))
      const [conversation, ...others] = messagesOf(yield* load(yield* Recording.file(...withoutResult)))
      assert.deepStrictEqual([conversation, others], [before.slice(0, 2), []])
      const image =
        "[{\"tool_use_id\":\"t1\",\"type\":\"tool_result\",\"content\":[{\"type\":\"image\",\"source\":{}}]}]"
      const broken = yield* Recording.file(...lines.map((line) => line.replace(/\[\{"tool_use_id":"t1".*?\}\]/, image)))
      assert.include((yield* Effect.flip(load(broken))).message, `row 6`)
      const skipped = yield* Effect.provide(Traces.load([broken], { broken: "skip" }), NodeServices.layer)
      assert.deepStrictEqual(messagesOf(skipped), [before.slice(0, 2)])
    }))

  it.effect("have no conversation whose beginning cannot be read", () =>
    Effect.gen(function*() {
      const skip = (...lines: ReadonlyArray<string>) =>
        Recording.file(...lines).pipe(
          Effect.flatMap((file) => Traces.load([file], { broken: "skip" })),
          Effect.provide(NodeServices.layer)
        )
      const lines = readFileSync(fixture("claude-code.jsonl"), "utf8").trimEnd().split("\n")
      const isFirst = (line: string) => line.includes("\"uuid\":\"u2\"")
      const skipped = yield* skip("{", ...lines.map((line) => isFirst(line) ? "{" : line))
      assert.deepStrictEqual(messagesOf(skipped), [
        [...before, { role: "user", content: "In fathoms?" }, { role: "assistant", content: "157 and 30." }]
      ])
      assert.deepStrictEqual((yield* skip()).conversations, [])
    }))
})

describe("sessions of Pi", () => {
  it.effect("become conversations up to a compaction, and a preference if an answer was requested again", () =>
    Effect.gen(function*() {
      const loaded = yield* load(fixture("pi.jsonl"))
      const before = [
        { role: "user", content: "How deep is Ohrid?" },
        {
          role: "assistant",
          content: "I read it.",
          reasoning_content: "A file.",
          tool_calls: [call("call_1", "read", { path: "ohrid.txt" })]
        },
        { role: "tool", content: "288 m", tool_call_id: "call_1", name: "read" }
      ]
      assert.deepStrictEqual(messagesOf(loaded), [
        [...before, { role: "assistant", content: "288 meter" }],
        [
          ...before,
          { role: "assistant", content: "288 m" },
          { role: "user", content: "And Prespa?" },
          { role: "assistant", content: "54 m" }
        ]
      ])
      const texts = loaded.preferences.map(({ chosen, rejected }) => [...chosen, ...rejected].map(Message.text))
      assert.deepStrictEqual(texts, [["288 m", "288 meter"]])
    }))

  it.effect("continue after answers that were interrupted or failed, without those answers and the results of their calls", () =>
    Effect.gen(function*() {
      const assistant = (stopReason: string, ...content: ReadonlyArray<object>) => ({
        role: "assistant",
        stopReason,
        content
      })
      const called = { type: "toolCall", id: "call_1", name: "read", arguments: {} }
      const said = [
        { role: "user", content: "How deep is Ohrid?" },
        assistant("error"),
        assistant("aborted", called),
        { role: "toolResult", toolCallId: "call_1", toolName: "read", content: "aborted" },
        { role: "user", content: "Go on." },
        assistant("stop", { type: "text", text: "288 m" })
      ]
      const rows = said.map((message, index) => ({
        type: "message",
        id: `m${index}`,
        parentId: index > 0 ? `m${index - 1}` : null,
        message
      }))
      const loaded = yield* load(yield* Recording.file({ type: "session", version: 3, id: "s", cwd: "/" }, ...rows))
      assert.deepStrictEqual(messagesOf(loaded), [[
        { role: "user", content: "How deep is Ohrid?" },
        { role: "user", content: "Go on." },
        { role: "assistant", content: "288 m" }
      ]])
    }))
})
