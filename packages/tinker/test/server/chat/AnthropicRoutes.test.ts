import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

describe("Anthropic messages", () => {
  const ask = { model: Chat.model, max_tokens: 100, messages: [{ role: "user", content: "Hi" }] }

  it.effect("are answered with content blocks", () =>
    Effect.gen(function*() {
      const { body } = yield* Api.send(Chat.request("/anthropic/api/v1/messages", ask))
      assert.deepInclude(body, { type: "message", role: "assistant", stop_reason: "end_turn" })
      assert.deepStrictEqual(body["content"], [{ type: "text", text: "Hello" }])
      const counted = yield* Api.send(
        Chat.request("/anthropic/api/v1/messages/count_tokens", { model: Chat.model, messages: ask.messages })
      )
      assert.strictEqual(
        counted.body["input_tokens"],
        (body["usage"] as { readonly input_tokens: number }).input_tokens
      )
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))

  it.effect("are streamed as blocks that open, grow and close", () =>
    Effect.gen(function*() {
      const all = (yield* Chat.events("/anthropic/api/v1/messages", { ...ask, stream: true })).map((text) =>
        JSON.parse(text)
      )
      const types = all.map(({ type }) => type)
      assert.deepStrictEqual(types.filter((type, index) => type !== types[index - 1]), [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop"
      ])
      const blocks = all.filter(({ type }) => type.startsWith("content_block"))
      assert.deepStrictEqual(blocks.map(({ index }) => index), blocks.map(() => 0))
      const text = all.flatMap(({ delta }) => delta?.type === "text_delta" ? [delta.text] : [])
      assert.strictEqual(text.join(""), "Hello there, whoever you are.")
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello there, whoever you are.<|im_end|>") }))))

  it.effect("end at a client's stop text, and report which one", () =>
    Effect.gen(function*() {
      const { body } = yield* Api.send(
        Chat.request("/anthropic/api/v1/messages", { ...ask, stop_sequences: ["whoever"] })
      )
      assert.deepInclude(body, { stop_reason: "stop_sequence", stop_sequence: "whoever" })
      assert.deepStrictEqual(body["content"], [{ type: "text", text: "Hello there, " }])
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello there, whoever you are.<|im_end|>") }))))

  it.effect("stream a tool call as its own block", () =>
    Effect.gen(function*() {
      const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }]
      const all = (yield* Chat.events("/anthropic/api/v1/messages", { ...ask, tools, stream: true })).map((text) =>
        JSON.parse(text)
      )
      const block = all.find(({ content_block }) => content_block?.type === "tool_use")
      assert.deepInclude(block?.content_block, { name: "add", input: {} })
      const json = all.flatMap(({ delta }) => delta?.type === "input_json_delta" ? [delta.partial_json] : [])
      assert.deepStrictEqual(JSON.parse(json.join("")), { a: 1 })
      assert.strictEqual(all.at(-2)?.delta.stop_reason, "tool_use")
    }).pipe(Effect.provide(Api.server({
      script: Chat.answering("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>")
    }))))

  it.effect("list the models", () =>
    Effect.gen(function*() {
      const { body } = yield* Api.send(HttpClientRequest.get("/anthropic/api/v1/models"))
      assert.deepInclude(body, { has_more: false, first_id: Chat.model, last_id: Chat.model })
      for (const name of [Chat.model, encodeURIComponent(Chat.model)]) {
        const one = yield* Api.send(HttpClientRequest.get(`/anthropic/api/v1/models/${name}`))
        assert.strictEqual(one.body["id"], Chat.model)
      }
      assert.strictEqual((yield* Api.send(HttpClientRequest.get("/anthropic/api/v1/models/nobody"))).status, 404)
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))

  it.effect("keep tool calls and their results separate", () =>
    Effect.gen(function*() {
      const messages = [
        { role: "user", content: "Add." },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "add", input: { a: 1 } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "2" }] }
      ]
      const { body, status } = yield* Api.send(Chat.request("/anthropic/api/v1/messages", { ...ask, messages }))
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(body["content"], [{ type: "text", text: "Hello" }])
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))
})
