import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const path = "/oai/api/v1/responses"
const call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"
const tools = [{ type: "function", name: "add", description: "Adds.", parameters: { type: "object" }, strict: false }]

const respond = (body: object) => Api.send(Chat.request(path, { model: Chat.model, input: "Hi", ...body }))

const server = (text: string) => Effect.provide(Api.server({ script: Chat.answering(text) }))

const streamed = (body: object) =>
  Effect.map(
    Chat.events(path, { model: Chat.model, input: "Hi", stream: true, ...body }),
    (all) => all.map((text) => JSON.parse(text))
  )

describe("responses", () => {
  it.effect("contain the message as an item, and the token usage", () =>
    Effect.gen(function*() {
      const { body, status } = yield* respond({ instructions: "Be brief.", metadata: { task: "greeting" } })
      assert.strictEqual(status, 200)
      assert.deepInclude(body, {
        object: "response",
        status: "completed",
        metadata: { task: "greeting" },
        store: false
      })
      const [item] = body["output"] as ReadonlyArray<Api.Body>
      assert.deepInclude(item, { type: "message", role: "assistant", status: "completed" })
      assert.deepStrictEqual(item?.["content"], [{ type: "output_text", text: "Hello", annotations: [], logprobs: [] }])
      assert.strictEqual((body["usage"] as { readonly output_tokens: number }).output_tokens, "Hello.".length)
    }).pipe(server("Hello<|im_end|>")))

  it.effect("report that they were truncated", () =>
    Effect.gen(function*() {
      const { body } = yield* respond({ max_output_tokens: 3 })
      assert.deepInclude(body, { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
    }).pipe(server("Hello<|im_end|>")))

  it.effect("return tool calls, and accept their results", () =>
    Effect.gen(function*() {
      const { body } = yield* respond({ tools })
      const output = body["output"] as ReadonlyArray<Api.Body>
      assert.deepInclude(output.at(-1), { type: "function_call", name: "add", arguments: "{\"a\": 1}" })
      const call_id = output.at(-1)?.["call_id"]
      const input = [{ role: "user", content: "Hi" }, ...output, { type: "function_call_output", call_id, output: "2" }]
      assert.strictEqual((yield* respond({ tools, input })).status, 200)
    }).pipe(server(call)))

  it.effect("stream items that open, grow and close", () =>
    Effect.gen(function*() {
      const events = yield* streamed({})
      assert.deepStrictEqual(events.map(({ sequence_number }) => sequence_number), [...events.keys()])
      const types = events.map(({ type }) => type)
      assert.deepStrictEqual(types.filter((type, index) => type !== types[index - 1]), [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed"
      ])
      const text = events.flatMap(({ delta, type }) => type === "response.output_text.delta" ? [delta] : []).join("")
      assert.strictEqual(text, "Hello there, whoever you are.")
      assert.strictEqual(events.at(-1)?.response.output[0].content[0].text, text)
    }).pipe(server("Hello there, whoever you are.<|im_end|>")))

  it.effect("stream tool calls", () =>
    Effect.gen(function*() {
      const events = yield* streamed({ tools })
      const done = events.find(({ type }) => type === "response.function_call_arguments.done")
      assert.deepInclude(done, { arguments: "{\"a\": 1}", name: "add" })
      assert.deepInclude(events.at(-1)?.response.output.at(-1), { type: "function_call", status: "completed" })
    }).pipe(server(call)))

  const include = ["message.output_text.logprobs"]
  const counted = { script: { models: { [Chat.model]: { contextLength: 4096 } } } }
  type Logprobs = ReadonlyArray<{ readonly top_logprobs: ReadonlyArray<unknown> }>

  it.effect("include the log-probability of each token and the most likely ones at its position, whole and streamed", () =>
    Effect.gen(function*() {
      const asked = { include, top_logprobs: 2, max_output_tokens: 40, temperature: 0 }
      const { body } = yield* respond(asked)
      const [item] = body["output"] as ReadonlyArray<{ readonly content: ReadonlyArray<{ logprobs: Logprobs }> }>
      const tokens = item?.content[0]?.logprobs ?? []
      assert.strictEqual(tokens.length, (body["usage"] as { readonly output_tokens: number }).output_tokens)
      assert.isTrue(tokens.every(({ top_logprobs }) => top_logprobs.length === 2))
      const events = yield* streamed(asked)
      const pieces = events.filter(({ type }) => type === "response.output_text.delta")
      assert.isAbove(pieces.length, 1)
      const done = events.find(({ type }) => type === "response.output_text.done")
      assert.lengthOf(done?.logprobs, 40)
      assert.deepStrictEqual(
        pieces.flatMap(({ logprobs }) => logprobs),
        done?.logprobs.slice(0, pieces.flatMap(({ logprobs }) => logprobs).length)
      )
      assert.deepStrictEqual(events.at(-1)?.response.output[0].content[0].logprobs, done?.logprobs)
    }).pipe(Effect.provide(Api.server(counted))))

  it.effect("include log-probabilities only on request, and alternatives only together with them", () =>
    Effect.gen(function*() {
      const { body } = yield* respond({ top_logprobs: 2 })
      assert.include(
        (body["error"] as { readonly message: string }).message,
        "top_logprobs is 2, expected 0 where include does not have \"message.output_text.logprobs\""
      )
      const output = (yield* respond({ include }))["body"]["output"] as ReadonlyArray<Api.Body>
      assert.strictEqual((yield* respond({ input: [{ role: "user", content: "Hi" }, ...output] })).status, 200)
    }).pipe(server("Hello<|im_end|>")))
})
