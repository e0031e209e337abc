import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const chat = (body: object, headers?: Readonly<Record<string, string>>) =>
  Api.send(
    Chat.request("/oai/api/v1/chat/completions", {
      model: Chat.model,
      messages: [{ role: "user", content: "Hi" }],
      ...body
    }, headers)
  )

const messageOf = ({ body }: { readonly body: Api.Body }) => (body["error"] as { readonly message: string }).message

const chunksOf = (body: object) =>
  Effect.map(
    Chat.events("/oai/api/v1/chat/completions", {
      model: Chat.model,
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      ...body
    }),
    (all) => all.slice(0, -1).map((text) => JSON.parse(text))
  )

const streamed = (body: object) =>
  Effect.map(chunksOf(body), (chunks) => ({
    text: chunks.flatMap(({ choices }) =>
      choices.map(({ delta }: { delta: { content?: string } }) => delta.content ?? "")
    ),
    finish: chunks.at(-1)?.choices[0].finish_reason
  }))

type Logprobs = ReadonlyArray<{ readonly top_logprobs: ReadonlyArray<object> }>

describe("chat completions", () => {
  it.effect("are answered with the model's message, the time, the stop reason and the token usage", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 hour")
      const { body, status } = yield* chat({ n: 2, logprobs: true })
      assert.strictEqual(status, 200)
      assert.deepInclude(body, { object: "chat.completion", model: Chat.model, created: 3600 })
      const choices = body["choices"] as ReadonlyArray<Api.Body>
      assert.lengthOf(choices, 2)
      assert.deepStrictEqual(choices[0]?.["message"], { role: "assistant", content: "Hello" })
      assert.strictEqual(choices[0]?.["finish_reason"], "stop")
      const usage = body["usage"] as { readonly completion_tokens: number; readonly total_tokens: number }
      assert.strictEqual(usage.completion_tokens, 2 * "Hello.".length)
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))

  it.effect("are refused, with the reason, for a model with an unknown chat template", () =>
    Effect.gen(function*() {
      const { body, status } = yield* chat({ model: "some/base" })
      assert.strictEqual(status, 400)
      assert.include(messageOf({ body }), `model "some/base" cannot chat: `)
    }).pipe(Effect.provide(Api.server({ script: { models: { "some/base": {} } } }))))

  it.effect("report that they were truncated", () =>
    Effect.gen(function*() {
      const { body } = yield* chat({ max_tokens: 3 })
      const [choice] = body["choices"] as ReadonlyArray<Api.Body>
      assert.strictEqual(choice?.["finish_reason"], "length")
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))

  it.effect("return tool calls", () =>
    Effect.gen(function*() {
      const tool = { type: "function", function: { name: "add", description: "Adds.", parameters: { type: "object" } } }
      const { body } = yield* chat({ tools: [tool] })
      const [choice] = body["choices"] as ReadonlyArray<Api.Body>
      assert.strictEqual(choice?.["finish_reason"], "tool_calls")
      assert.deepInclude(
        (choice?.["message"] as { readonly tool_calls: ReadonlyArray<object> } | undefined)?.tool_calls[0],
        {
          function: { name: "add", arguments: "{\"a\": 1}" }
        }
      )
    }).pipe(Effect.provide(Api.server({
      script: Chat.answering("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>")
    }))))

  it.effect("stream pieces that add up to the whole message", () =>
    Effect.gen(function*() {
      const body = {
        model: Chat.model,
        messages: [{ role: "user", content: "Hi" }],
        stream: true,
        stream_options: { include_usage: true }
      }
      const all = yield* Chat.events("/oai/api/v1/chat/completions", body)
      assert.strictEqual(all.at(-1), "[DONE]")
      const chunks = all.slice(0, -1).map((text) => JSON.parse(text))
      const text = chunks.flatMap(({ choices }) =>
        choices.map(({ delta }: { delta: { content?: string } }) => delta.content ?? "")
      )
      assert.strictEqual(text.join(""), "A longer answer, which comes in several pieces.")
      assert.isAbove(text.filter((piece) => piece !== "").length, 1)
      assert.strictEqual(chunks.at(-2)?.choices[0].finish_reason, "stop")
      assert.strictEqual(
        chunks.at(-1)?.usage.completion_tokens,
        "A longer answer, which comes in several pieces.".length + 1
      )
    }).pipe(
      Effect.provide(
        Api.server({ script: Chat.answering("A longer answer, which comes in several pieces.<|im_end|>") })
      )
    ))

  it.effect("end at a client's stop text, whole and streamed, and omit it", () =>
    Effect.gen(function*() {
      const { body } = yield* chat({ stop: ["over", "day. An"] })
      const [choice] = body["choices"] as ReadonlyArray<Api.Body>
      assert.deepInclude(choice, { message: { role: "assistant", content: "It is a long " }, finish_reason: "stop" })
      const { finish, text } = yield* streamed({ stop: "day. An" })
      assert.deepStrictEqual({ finish, text: text.join("") }, { finish: "stop", text: "It is a long " })
    }).pipe(
      Effect.provide(Api.server({ script: Chat.answering("It is a long day. And then it is over.<|im_end|>") }))
    ))

  it.effect("show the most likely tokens at each sampled position, whole and streamed", () =>
    Effect.gen(function*() {
      const { body } = yield* chat({ logprobs: true, top_logprobs: 2, max_tokens: 3 })
      const [choice] = body["choices"] as ReadonlyArray<{ readonly logprobs: { readonly content: Logprobs } }>
      const tokens = choice?.logprobs.content ?? []
      assert.lengthOf(tokens, 3)
      assert.isTrue(tokens.every(({ top_logprobs }) => top_logprobs.length === 2))
      const chunks = yield* chunksOf({ logprobs: true, top_logprobs: 2, max_tokens: 3, temperature: 0 })
      const inStream = chunks.flatMap(({ choices }) =>
        choices.flatMap(({ logprobs }: { readonly logprobs?: { readonly content: Logprobs } }) =>
          logprobs?.content ?? []
        )
      )
      assert.lengthOf(inStream, 3)
    }).pipe(Effect.provide(Api.server({ script: { models: { [Chat.model]: { contextLength: 4096 } } } }))))

  it.effect("refuse alternative tokens if the backend does not support them, and without logprobs", () =>
    Effect.gen(function*() {
      const none = yield* chat({ logprobs: true, top_logprobs: 2 })
      assert.strictEqual(none.status, 422)
      assert.include(messageOf(none), "top_logprobs is 2, expected at most 0")
      assert.include(
        messageOf(yield* chat({ top_logprobs: 2 })),
        "top_logprobs is 2, expected 0 where logprobs is not true"
      )
    }).pipe(Effect.provide(Api.server({ script: { models: { [Chat.model]: { topkPromptLogprobs: 0 } } } }))))

  it.effect("are refused in OpenAI's error format", () =>
    Effect.gen(function*() {
      const format = yield* chat({ response_format: { type: "json_object" } })
      assert.strictEqual(format.status, 422)
      assert.include(messageOf(format), "response_format")
      const schema = { name: "answer", schema: { type: "object" } }
      const held = yield* chat({ response_format: { type: "json_schema", json_schema: schema } })
      assert.include(messageOf(held), "response_format")
      for (const tool_choice of ["required", { type: "function", function: { name: "add" } }]) {
        const forced = yield* chat({ tool_choice })
        assert.strictEqual(forced.status, 422)
        assert.include(messageOf(forced), "tool_choice")
      }
      assert.strictEqual((yield* chat({ stop: [""] })).status, 422)
      const unknown = yield* chat({ model: "nobody/nothing" })
      assert.strictEqual(unknown.status, 404)
      assert.include(messageOf(unknown), "no model \"nobody/nothing\"")
      const long = yield* chat({ messages: [{ role: "user", content: "x".repeat(5000) }] })
      assert.strictEqual(long.status, 400)
      assert.match(messageOf(long), /the prompt has \d+ tokens, expected fewer/)
    }).pipe(Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>") }))))

  it.effect("accept the key as a bearer token", () =>
    Effect.gen(function*() {
      const stranger = yield* chat({})
      assert.strictEqual(stranger.status, 401)
      assert.deepInclude(stranger.body["error"], { type: "authentication_error" })
      assert.strictEqual((yield* chat({}, { authorization: "Bearer tml-one" })).status, 200)
    }).pipe(
      Effect.provide(Api.server({ script: Chat.answering("Hello<|im_end|>"), apiKeys: Api.keys("ann=tml-one") }))
    ))
})
