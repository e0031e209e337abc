import { Message } from "@effect-rl/core"
import { OpenAi, PythonJson } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Vectors from "../renderers/Vectors.ts"

const call = { id: "c1", type: "function" as const, function: { name: "get", arguments: "{\"city\": \"SF\"}" } }
const picture = "data:image/png;base64,iVBORw0KGgo="

describe("OpenAi conversations", () => {
  it.effect("include reasoning, tool calls and their answers", () =>
    Effect.gen(function*() {
      const messages = yield* Schema.decodeUnknownEffect(Schema.Array(OpenAi.ChatMessage))([
        { role: "system", content: "Be terse." },
        { role: "user", content: [{ type: "text", text: "See" }, { type: "image_url", image_url: { url: picture } }] },
        { role: "assistant", content: null, reasoning_content: "hm", tool_calls: [call] },
        { role: "tool", content: "mild", tool_call_id: "c1" }
      ])
      const [system, user, assistant, tool] = yield* OpenAi.toMessages(messages)
      assert.deepStrictEqual(system, Message.system("Be terse."))
      assert.deepStrictEqual(user?.content, [
        { type: "text", text: "See" },
        { type: "image", format: "png", data: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a) }
      ])
      assert.deepStrictEqual(assistant, {
        role: "assistant",
        content: [{ type: "thinking", thinking: "hm" }],
        toolCalls: [{ id: "c1", function: call.function }]
      })
      assert.deepStrictEqual(tool, { role: "tool", content: "mild", toolCallId: "c1", name: "get" })
    }))

  it.effect("name each tool answer after the nearest earlier call if ids repeat", () =>
    Effect.gen(function*() {
      const calls = (...names: ReadonlyArray<string>) => ({
        role: "assistant",
        tool_calls: names.map((name) => ({ id: "call_0", function: { name, arguments: "{}" } }))
      })
      const answer = { role: "tool", content: "2", tool_call_id: "call_0" }
      const messages = yield* OpenAi.toMessages([
        calls("add"),
        answer,
        calls("mul"),
        answer,
        calls("sub", "div"),
        answer,
        answer
      ])
      assert.deepStrictEqual(
        messages.flatMap(({ name, role }) => role === "tool" ? [name] : []),
        ["add", "mul", "sub", "div"]
      )
    }))

  it.effect("survive a round trip", () =>
    Effect.gen(function*() {
      const messages: ReadonlyArray<Message.Message> = [
        Message.user("q"),
        {
          role: "assistant",
          content: [{ type: "thinking", thinking: "r" }, { type: "text", text: "a" }],
          toolCalls: [{ id: "c1", function: call.function }]
        },
        { role: "tool", content: "mild", toolCallId: "c1", name: "get" },
        { role: "user", content: [{ type: "image", format: "jpeg", data: Uint8Array.of(1, 2, 3) }] }
      ]
      assert.deepStrictEqual(yield* OpenAi.toMessages(messages.map(OpenAi.fromMessage)), messages)
    }))

  it("have an id for every call, and the call's id for every tool answer", () => {
    const get = { function: call.function }
    const answer = { role: "tool", content: "mild", name: "get" }
    const asks = { role: "assistant", content: "", toolCalls: [get, get] }
    const ids = OpenAi.fromMessages([asks, answer, answer, { ...asks, toolCalls: [{ ...get, id: "own" }] }, answer])
      .map(
        ({ tool_call_id, tool_calls }) => tool_call_id ?? (tool_calls ?? []).map(({ id }) => id)
      )
    assert.deepStrictEqual(ids, [["call_0", "call_1"], "call_0", "call_1", ["own"], "own"])
  })

  it.effect.each(["https://example.com/a.png", "data:image/gif;base64,AAAA", "data:image/png;base64,?"])(
    "refuse the image %s and name its field",
    (url) =>
      Effect.gen(function*() {
        const content = [{ type: "image_url" as const, image_url: { url } }]
        const error = yield* Effect.flip(OpenAi.toMessages([{ role: "user", content }]))
        assert.include(error.message, "messages[0].content[0].image_url.url: is \"")
        assert.include(error.message, "expected a data URI of type image/png or image/jpeg")
      })
  )
})

describe("OpenAi tools", () => {
  it("survive a round trip, and may lack a description and parameters", () => {
    const spec = { name: "f", description: "d", parameters: { type: "object" } }
    assert.deepStrictEqual(OpenAi.toToolSpec(OpenAi.fromToolSpec(spec)), spec)
    assert.deepStrictEqual(OpenAi.toToolSpec({ type: "function", function: { name: "f" } }), {
      name: "f",
      description: "",
      parameters: {}
    })
  })
})

describe("OpenAi responses", () => {
  const parsed = (termination: "stop_sequence" | "eos" | "malformed", toolCalls: ReadonlyArray<Message.ToolCall>) => ({
    message: { ...Message.assistant("a"), toolCalls },
    termination
  })

  it("end at a stop, with tool calls, or at the length limit", () => {
    assert.strictEqual(OpenAi.finishReason(parsed("stop_sequence", [])), "stop")
    assert.strictEqual(OpenAi.finishReason(parsed("eos", [])), "stop")
    assert.strictEqual(OpenAi.finishReason(parsed("stop_sequence", [{ function: call.function }])), "tool_calls")
    assert.strictEqual(OpenAi.finishReason(parsed("malformed", [])), "length")
  })

  it("are streamed as chunks", () => {
    assert.deepStrictEqual(OpenAi.fromDelta({ _tag: "Text", part: 0, text: "a" }, 0), { content: "a" })
    assert.deepStrictEqual(OpenAi.fromDelta({ _tag: "Thinking", part: 0, thinking: "r" }, 0), {
      reasoning_content: "r"
    })
    assert.deepStrictEqual(OpenAi.fromDelta({ _tag: "ToolCall", toolCall: { function: call.function } }, 1), {
      tool_calls: [{ index: 1, id: "call_1", type: "function", function: call.function }]
    })
    assert.deepStrictEqual(
      OpenAi.fromDelta({ _tag: "UnparsedToolCall", unparsedToolCall: { rawText: "<x", error: "e" } }, 0),
      { content: "<x" }
    )
  })
})

const Recorded = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.String,
    content: Schema.String,
    reasoning_content: Schema.optional(Schema.String),
    tool_calls: Schema.optional(Schema.Array(Schema.Struct({
      id: Schema.NullOr(Schema.String),
      type: Schema.String,
      function: Schema.Struct({ name: Schema.String, arguments: Schema.Json })
    })))
  }),
  [Schema.Record(Schema.String, Schema.Json)]
)

/** Upstream represents some families' arguments as values, this library as text. Numbers lose their spelling in values. */
const values = (given: Schema.Json) =>
  JSON.stringify(
    typeof given === "string"
      ? PythonJson.toJson(Result.getOrElse(PythonJson.parse(given), () => given))
      : given
  )

/** Upstream writes the reasoning of TML v0 as tags in the text. This library uses `reasoning_content`, as for all other families. */
const keepsTags = (renderer: string, content: Message.Message["content"]) =>
  renderer === "tml_v0" && typeof content !== "string" && content.some(({ type }) => type === "thinking")

describe("OpenAi messages recorded from upstream", () => {
  it.effect.each(
    Vectors.parses.filter(({ expect, input }) =>
      !("error" in expect) && !JSON.stringify(expect).includes("NaN") &&
      !keepsTags(input.renderer, expect.message.content)
    )
  )(
    "$id",
    ({ expect }) =>
      Effect.gen(function*() {
        if ("error" in expect) return
        const recorded = yield* Schema.decodeUnknownEffect(Recorded)(expect.openai)
        const { content, tool_calls: calls = [] } = expect.message
        const ours = OpenAi.fromMessage({
          role: expect.message.role,
          content,
          toolCalls: calls.map(({ arguments: given, id, name }) => ({
            ...(id === null ? {} : { id }),
            function: { name, arguments: given }
          }))
        })
        assert.strictEqual(ours.content, recorded.content)
        assert.strictEqual(ours.reasoning_content ?? undefined, recorded.reasoning_content || undefined)
        assert.deepStrictEqual(
          (ours.tool_calls ?? []).map(({ function: { arguments: given, name } }) => [name, values(given)]),
          (recorded.tool_calls ?? []).map(({ function: { arguments: given, name } }) => [name, values(given)])
        )
      })
  )
})
