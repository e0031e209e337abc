/** Conversations that end with an assistant message, in each of the three dialects. */
import * as Continued from "@effect-rl/agent/dialect/Continued"
import { Message } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const user = { role: "user", content: "Hi" }
const begun = { role: "assistant", content: "It is a" }
const server = Api.server({ script: Chat.answering("It is a long day.<|im_end|>") })

interface Dialect {
  readonly path: string
  readonly body: (messages: ReadonlyArray<object>) => object
  readonly textOf: (body: Api.Body) => string
  readonly promptTokens: (body: Api.Body) => number
  readonly streamed: (event: Api.Body) => string
}

const usage = (body: Api.Body, field: string) => (body["usage"] as Readonly<Record<string, number>>)[field] ?? NaN

const chat: Dialect = {
  path: "/oai/api/v1/chat/completions",
  body: (messages) => ({ messages }),
  textOf: ({ choices }) => (choices as ReadonlyArray<{ message: { content: string } }>)[0]?.message.content ?? "",
  promptTokens: (body) => usage(body, "prompt_tokens"),
  streamed: ({ choices }) => (choices as ReadonlyArray<{ delta: { content?: string } }>)[0]?.delta.content ?? ""
}

const responses: Dialect = {
  path: "/oai/api/v1/responses",
  body: (input) => ({ input }),
  textOf: ({ output }) =>
    (output as ReadonlyArray<{ content: ReadonlyArray<{ text: string }> }>)[0]?.content[0]?.text ?? "",
  promptTokens: (body) => usage(body, "input_tokens"),
  streamed: ({ delta, type }) => type === "response.output_text.delta" ? String(delta) : ""
}

const messages: Dialect = {
  path: "/anthropic/api/v1/messages",
  body: (messages) => ({ messages, max_tokens: 100 }),
  textOf: ({ content }) => (content as ReadonlyArray<{ text: string }>)[0]?.text ?? "",
  promptTokens: (body) => usage(body, "input_tokens"),
  streamed: ({ delta, type }) => type === "content_block_delta" ? (delta as { text: string }).text : ""
}

const ask = (dialect: Dialect, conversation: ReadonlyArray<object>, model = Chat.model) =>
  Api.send(Chat.request(dialect.path, { model, ...dialect.body(conversation) }))

const refusal = ({ body }: { readonly body: Api.Body }) => (body["error"] as { readonly message: string }).message

describe("a conversation that ends with the beginning of the reply", () => {
  for (const [name, dialect] of Object.entries({ chat, responses, messages })) {
    it.effect(`is continued, and the reply contains only the rest: ${name}`, () =>
      Effect.gen(function*() {
        const { body } = yield* ask(dialect, [user, begun])
        assert.strictEqual(dialect.textOf(body), " long day.")
        const fresh = dialect.promptTokens((yield* ask(dialect, [user])).body)
        assert.strictEqual(dialect.promptTokens(body), fresh + begun.content.length)
        const events = yield* Chat.events(dialect.path, {
          model: Chat.model,
          stream: true,
          ...dialect.body([user, begun])
        })
        const pieces = events.flatMap((text) => text === "[DONE]" ? [] : dialect.streamed(JSON.parse(text)))
        assert.strictEqual(pieces.join(""), " long day.")
      }).pipe(Effect.provide(server)))

    it.effect(`may not be empty: ${name}`, () =>
      Effect.gen(function*() {
        const response = yield* ask(dialect, [])
        assert.strictEqual(response.status, 422)
        assert.match(refusal(response), /messages|input/)
      }).pipe(Effect.provide(server)))
  }

  it.effect("is refused if the beginning has tool calls or reasoning", () =>
    Effect.gen(function*() {
      const call = { id: "a", type: "function", function: { name: "add", arguments: "{}" } }
      const called = yield* ask(chat, [user, { role: "assistant", content: "I add.", tool_calls: [call] }])
      assert.strictEqual(called.status, 422)
      assert.include(
        refusal(called),
        "messages: the last is the assistant's and has tool calls, expected only text"
      )
      const reasoned = yield* ask(chat, [user, { ...begun, reasoning_content: "Hm." }])
      assert.include(refusal(reasoned), "has reasoning, expected only text")
    }).pipe(Effect.provide(server)))

  it.effect("is refused if the model's replies begin with reasoning, because the text would be read as reasoning", () =>
    Effect.gen(function*() {
      const model = "Qwen/Qwen3.5-9B"
      const thinking = Api.server({ script: { ...Chat.answering(""), models: { [model]: { contextLength: 4096 } } } })
      const response = yield* Effect.provide(ask(chat, [user, begun], model), thinking)
      assert.strictEqual(response.status, 422)
      assert.match(refusal(response), /the renderer \S+ cannot continue the assistant's last message/)
    }))
})

describe("a conversation that ends with an assistant message", () => {
  it.effect("is split into everything before the message, and the message's text", () =>
    Effect.gen(function*() {
      const before = [Message.system("Be brief."), Message.user("Hi")]
      assert.deepStrictEqual(
        yield* Continued.divide([...before, Message.assistant("It is a")]),
        { before, prefill: "It is a" }
      )
      assert.deepStrictEqual(yield* Continued.divide(before), { before, prefill: "" })
    }))
})
