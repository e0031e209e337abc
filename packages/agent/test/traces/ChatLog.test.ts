import { Traces } from "@effect-rl/agent/traces"
import { Message } from "@effect-rl/core"
import { OpenAi } from "@effect-rl/core/renderers"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as Recording from "./Recording.ts"

const load = (...lines: ReadonlyArray<unknown>) =>
  Recording.file(...lines).pipe(Effect.flatMap((file) => Traces.load([file])), Effect.provide(NodeServices.layer))

const messagesOf = ({ conversations }: Traces.Loaded): ReadonlyArray<ReadonlyArray<unknown>> =>
  conversations.map(({ messages }) => OpenAi.fromMessages(messages))

const events = (...data: ReadonlyArray<{ readonly type?: string; readonly [field: string]: unknown }>) =>
  data.map((one) => `${one.type === undefined ? "" : `event: ${one.type}\n`}data: ${JSON.stringify(one)}\n\n`).join("")

const tool = { type: "function", function: { name: "depth", description: "Depth.", parameters: { type: "object" } } }

const call = { id: "call_1", type: "function", function: { name: "depth", arguments: "{\"lake\": \"Ohrid\"}" } }

const chat = {
  request: {
    model: "gpt-5",
    temperature: 1,
    messages: [
      { role: "system", content: "Answer with a number." },
      { role: "user", content: [{ type: "text", text: "How deep is Ohrid?" }] },
      { role: "assistant", content: null, refusal: null, annotations: [], tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "288 m" }
    ],
    tools: [tool, { type: "web_search" }]
  },
  response: {
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "288", refusal: null }, finish_reason: "stop" }]
  }
}

const whole = [
  { role: "system", content: "Answer with a number." },
  { role: "user", content: "How deep is Ohrid?" },
  { role: "assistant", content: "", tool_calls: [call] },
  { role: "tool", tool_call_id: "call_1", name: "depth", content: "288 m" },
  { role: "assistant", content: "288" }
]

describe("a log of OpenAI's chat completions", () => {
  it.effect("becomes conversations with their tools", () =>
    Effect.gen(function*() {
      const loaded = yield* load(chat)
      assert.deepStrictEqual(messagesOf(loaded), [whole])
      const tools = [{ name: "depth", description: "Depth.", parameters: { type: "object" } }]
      assert.deepStrictEqual(loaded.conversations[0]?.tools, tools)
    }))

  it.effect("may have bodies as text, and answers as streamed events", () =>
    Effect.gen(function*() {
      const chunk = (delta: object, finish_reason: string | null = null) => ({
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta, finish_reason }]
      })
      const response = events(
        chunk({ role: "assistant", content: "" }),
        chunk({ reasoning_content: "Look it up." }),
        chunk({
          tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "depth", arguments: "" } }]
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: "{\"lake\": " } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: "\"Ohrid\"}" } }] }),
        chunk({}, "tool_calls"),
        { object: "chat.completion.chunk", choices: [], usage: { prompt_tokens: 3 } }
      )
      const request = JSON.stringify({ ...chat.request, messages: chat.request.messages.slice(0, 2) })
      const [messages] = messagesOf(yield* load({ request, response: `${response}data: [DONE]\n\n` }))
      const called = { role: "assistant", content: "", reasoning_content: "Look it up.", tool_calls: [call] }
      assert.deepStrictEqual(messages, [...whole.slice(0, 2), called])
    }))

  it.effect("leaves out failed requests and incomplete answers, even if the conversation continues after them", () =>
    Effect.gen(function*() {
      const { messages } = chat.request
      const answered = (content: string, finish_reason: string) => ({
        choices: [{ message: { role: "assistant", content }, finish_reason }]
      })
      const question = messages.slice(0, 2)
      const cut = { request: { messages: question }, response: answered("28", "length") }
      const loaded = yield* load(
        { request: chat.request, response: { error: { message: "overloaded" } } },
        { request: chat.request, response: null },
        cut
      )
      assert.deepStrictEqual(loaded.conversations, [])
      assert.deepStrictEqual([loaded.report.cut, loaded.report.without.get("failed")], [1, 2])
      const more = [...question, { role: "assistant", content: "28" }, { role: "user", content: "Go on." }]
      const continued = yield* load(cut, { request: { messages: more }, response: answered("8", "stop") })
      assert.deepStrictEqual(continued.conversations.map(({ messages }) => messages.map(Message.text)), [
        ["Answer with a number.", "How deep is Ohrid?", "28", "Go on.", "8"]
      ])
      assert.strictEqual(continued.report.cut, 0)
    }))

  it.effect("keeps a session up to the answer before an incomplete one", () =>
    Effect.gen(function*() {
      const user = (content: string) => ({ role: "user", content })
      const assistant = (content: string) => ({ role: "assistant", content })
      const line = (messages: ReadonlyArray<object>, content: string, finish_reason: string) => ({
        request: { messages },
        response: { choices: [{ message: assistant(content), finish_reason }] }
      })
      const first = [user("Name a lake.")]
      const second = [...first, assistant("Ohrid"), user("Another.")]
      const third = [...second, assistant("Prespa"), user("All.")]
      const texts = ({ conversations }: Traces.Loaded) =>
        conversations.map(({ messages }) => messages.map(Message.text).join(" "))
      const lines = [line(first, "Ohrid", "stop"), line(second, "Prespa", "stop"), line(third, "Ohrid, P", "length")]
      const loaded = yield* load(...lines)
      assert.deepStrictEqual(texts(loaded), ["Name a lake. Ohrid Another. Prespa"])
      const { cut, repeated, rows } = loaded.report
      assert.deepStrictEqual({ cut, repeated, rows }, { cut: 1, repeated: 1, rows: 3 })
      const again = yield* load(...lines, line(third, "Ohrid, Prespa", "stop"))
      assert.deepStrictEqual(texts(again), ["Name a lake. Ohrid Another. Prespa All. Ohrid, Prespa"])
      assert.deepStrictEqual(texts(yield* load(line(first, "O", "length"), line(second, "P", "length"))), [
        "Name a lake. Ohrid"
      ])
    }))

  it.effect("fails with the file, the line, the field and what was expected", () =>
    Effect.gen(function*() {
      const broken = { ...chat, request: { ...chat.request, messages: [{ role: "user", content: 7 }] } }
      const file = yield* Recording.file(chat, "", broken)
      const { message, row } = yield* Effect.flip(Effect.provide(Traces.load([file]), NodeServices.layer))
      assert.strictEqual(row, 3)
      assert.include(message, `${file}, row 3`)
      assert.include(message, `["request"]["messages"][0]["content"]`)
      assert.include(message, "string")
      const skipped = yield* Effect.provide(Traces.load([file], { broken: "skip" }), NodeServices.layer)
      assert.lengthOf(skipped.conversations, 1)
    }))

  it.effect("refuses images that are not in the log, and calls in the form before tools", () =>
    Effect.gen(function*() {
      const image = [{ type: "image_url", image_url: { url: "https://example.org/lake.png" } }]
      const asked = (message: object) => ({ ...chat, request: { messages: [message] } })
      const { message } = yield* Effect.flip(load(asked({ role: "user", content: image })))
      assert.include(message, "messages[0].content[0].image_url.url")
      const old = { role: "assistant", content: null, function_call: { name: "depth", arguments: "{}" } }
      assert.include((yield* Effect.flip(load(asked(old)))).message, "function_call")
    }))
})

const blocks = [
  { type: "thinking", thinking: "Look it up.", signature: "c2ln" },
  { type: "tool_use", id: "toolu_1", name: "depth", input: { lake: "Ohrid" } }
]

const anthropic = {
  request: {
    model: "claude-sonnet-4-5",
    max_tokens: 1024,
    system: [{ type: "text", text: "Answer with a number.", cache_control: { type: "ephemeral" } }],
    tools: [{ name: "depth", description: "Depth.", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "How deep is Ohrid?" },
      { role: "assistant", content: blocks },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "288 m" }] }]
      }
    ]
  },
  response: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "288" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 30, output_tokens: 2 }
  }
}

const told = [
  { role: "system", content: "Answer with a number." },
  { role: "user", content: "How deep is Ohrid?" },
  {
    role: "assistant",
    content: "",
    reasoning_content: "Look it up.",
    tool_calls: [{ id: "toolu_1", type: "function", function: { name: "depth", arguments: "{\"lake\":\"Ohrid\"}" } }]
  },
  { role: "tool", tool_call_id: "toolu_1", name: "depth", content: "288 m" },
  { role: "assistant", content: "288" }
]

describe("a log of Anthropic's messages", () => {
  it.effect("becomes conversations with their tools", () =>
    Effect.gen(function*() {
      const loaded = yield* load(anthropic)
      assert.deepStrictEqual(messagesOf(loaded), [told])
      assert.deepStrictEqual(loaded.conversations[0]?.tools.map(({ name }) => name), ["depth"])
    }))

  it.effect("may have answers as streamed events", () =>
    Effect.gen(function*() {
      const block = (index: number, content_block: object, ...deltas: ReadonlyArray<object>) => [
        { type: "content_block_start", index, content_block },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index }
      ]
      const response = events(
        { type: "message_start", message: { id: "msg_0", role: "assistant", content: [] } },
        ...block(
          0,
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "Look " },
          { type: "thinking_delta", thinking: "it up." },
          { type: "signature_delta", signature: "c2ln" }
        ),
        ...block(
          1,
          { type: "tool_use", id: "toolu_1", name: "depth", input: {} },
          { type: "input_json_delta", partial_json: "{\"lake\":" },
          { type: "input_json_delta", partial_json: "\"Ohrid\"}" }
        ),
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
        { type: "message_stop" }
      )
      const request = { ...anthropic.request, messages: anthropic.request.messages.slice(0, 1) }
      assert.deepStrictEqual(messagesOf(yield* load({ request, response })), [told.slice(0, 3)])
      assert.deepStrictEqual(messagesOf(yield* load({ request, response }, anthropic)), [told])
    }))

  it.effect("keeps reasoning that later requests leave out", () =>
    Effect.gen(function*() {
      const [question, , result] = anthropic.request.messages
      const first = {
        request: { ...anthropic.request, messages: [question] },
        response: { content: blocks, stop_reason: "tool_use" }
      }
      const withoutReasoning = { role: "assistant", content: blocks.slice(1) }
      const later = { ...anthropic, request: { ...anthropic.request, messages: [question, withoutReasoning, result] } }
      assert.deepStrictEqual(messagesOf(yield* load(first, later)), [told])
    }))
})

describe("a stream that broke off", () => {
  const input = [{ role: "user", content: "How deep is Ohrid?" }]

  const response = (status: string, text: string) => ({
    id: `resp_${text}`,
    status,
    output: text === "" ? [] : [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }]
  })

  it.effect("is an incomplete answer", () =>
    Effect.gen(function*() {
      const chunk = { choices: [{ index: 0, delta: { content: "28" }, finish_reason: null }] }
      const started = { type: "response.in_progress", response: response("in_progress", "28") }
      const { conversations, report } = yield* load(
        { request: { messages: input }, response: events(chunk) },
        {
          request: { ...anthropic.request, messages: input },
          response: events(
            { type: "message_start", message: { id: "msg_0", role: "assistant", content: [] } },
            { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
            { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "2" } }
          )
        },
        { request: { input: "Deep?" }, response: events({ ...started, type: "response.created" }, started) }
      )
      assert.deepStrictEqual([conversations, report.cut, report.without.size], [[], 3, 0])
    }))

  it.effect("is an incomplete answer without the call whose arguments broke off", () =>
    Effect.gen(function*() {
      const request = { ...anthropic.request, messages: input }
      const started = [
        { type: "message_start", message: { id: "msg_0", role: "assistant", content: [] } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "Look." } },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "tool_use", id: "a", name: "depth", input: {} }
        },
        { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "{\"lake" } }
      ]
      const ended = (stop_reason: string) => ({ type: "message_delta", delta: { stop_reason } })
      const chunk = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] })
      const called = { index: 0, id: "a", function: { name: "depth", arguments: "{\"lake" } }
      const { conversations, report } = yield* load(
        { request, response: events(...started) },
        { request, response: events(...started, ended("max_tokens")) },
        {
          request: { messages: input, tools: [tool] },
          response: events(chunk({ content: "Look." }), chunk({ tool_calls: [called] }))
        }
      )
      assert.deepStrictEqual([conversations, report.cut, report.without.size, report.rows], [[], 2, 0, 3])
      const { message } = yield* Effect.flip(load({ request, response: events(...started, ended("tool_use")) }))
      assert.include(message, "row 1: ")
    }))

  it.effect("is a failed request if nothing came", () =>
    Effect.gen(function*() {
      const created = { type: "response.created", response: response("in_progress", "") }
      const { conversations, report } = yield* load({ request: { input }, response: events(created) })
      assert.deepStrictEqual([conversations, report.without.get("failed")], [[], 1])
    }))
})

describe("Traces.load", () => {
  it.effect("refuses a file of no known format", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(load({ rows: 3 }))
      assert.include(message, "row 1: has the fields rows, expected one of: requests and answers")
    }))

  it.effect("names the row by whose fields a file is refused", () =>
    Effect.gen(function*() {
      const refused = (...lines: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          const file = yield* Recording.file(...lines)
          const { message } = yield* Effect.flip(Traces.load([file]))
          return message.slice(file.length)
        }).pipe(Effect.provide(NodeServices.layer))
      assert.match(yield* refused("{", "", "{\"rows\": 3}"), /^, row 3: has the fields rows,/)
      assert.match(yield* refused(), /^: has no rows, expected one of: requests and answers/)
    }))

  it.effect("logs each row that is left out once", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const said = Logger.make(({ message }) => logged.push(String(message)))
      const file = yield* Recording.file("{", chat, "[]")
      const broken = yield* Recording.file("{", "[]")
      const { conversations } = yield* Traces.load([file, broken], { broken: "skip" }).pipe(
        Effect.provide([NodeServices.layer, Logger.layer([said])])
      )
      assert.lengthOf(conversations, 1)
      const rows = logged.map((line) => /row \d/.exec(line)?.[0])
      assert.deepStrictEqual(rows, ["row 1", "row 3", "row 1", "row 2"])
    }))

  it.effect("makes preferences of answers that were requested again or edited", () =>
    Effect.gen(function*() {
      const user = (content: string) => ({ role: "user", content })
      const assistant = (content: string) => ({ role: "assistant", content })
      const line = (messages: ReadonlyArray<object>, content: string) => ({
        request: { messages },
        response: { choices: [{ message: assistant(content), finish_reason: "stop" }] }
      })
      const { preferences } = yield* load(
        line([user("Name a lake.")], "Lake Bob"),
        line([user("Name a lake.")], "Ohrid"),
        line([user("Name a lake."), assistant("Ohrid"), user("Another.")], "Prspa"),
        line([user("Name a lake."), assistant("Ohrid"), user("Another."), assistant("Prespa"), user("Thanks.")], "Bye")
      )
      const texts = preferences.map(({ chosen, prompt, rejected }) =>
        [prompt, chosen, rejected].map((messages) => messages.map(Message.text))
      )
      assert.deepStrictEqual(texts, [
        [["Name a lake."], ["Ohrid"], ["Lake Bob"]],
        [["Name a lake.", "Ohrid", "Another."], ["Prespa"], ["Prspa"]]
      ])
    }))
})
