import { Message } from "@effect-rl/core"
import * as Qwen35 from "@effect-rl/core/renderers/qwen/Qwen35"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CharTokenizer from "../CharTokenizer.ts"
import * as Rendered from "../Rendered.ts"

const { qwen } = CharTokenizer
const question = [Message.user("What is 2+2?")]
const turn = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"

const reasoned = (thinking: string, text: string): Message.Message => ({
  role: "assistant",
  content: [{ type: "thinking", thinking }, { type: "text", text }]
})

describe("qwen3_5 examples", () => {
  it.effect("the prompt opens the thinking block, and the model closes it", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      assert.strictEqual(yield* Rendered.prompt(renderer, qwen, question), `${turn}<think>\n`)
      assert.strictEqual(
        yield* Rendered.supervised(renderer, qwen, [...question, Message.assistant("4")]),
        `${turn}<think>\n⟦\n</think>\n\n4<|im_end|>⟧`
      )
      assert.strictEqual(
        yield* Rendered.supervised(renderer, qwen, [...question, reasoned("two and two", "4")]),
        `${turn}<think>\n⟦two and two\n</think>\n\n4<|im_end|>⟧`
      )
    }))

  it.effect("without thinking, the prompt closes the block, and a turn with reasoning is refused", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35DisableThinking(qwen)
      assert.strictEqual(
        yield* Rendered.supervised(renderer, qwen, [...question, Message.assistant("4")]),
        `${turn}<think>\n\n</think>\n\n⟦4<|im_end|>⟧`
      )
      const messages = [...question, reasoned("hm", "4")]
      const error = yield* Effect.flip(renderer.supervisedExample(messages, "last_assistant_message"))
      assert.include(error.message, "this turn reasons")
    }))

  it.effect("calls are XML with Python scalars, and consecutive tool answers share one user turn", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const values = "{\"ok\":true,\"none\":null,\"x\":1.0,\"s\":\"é\",\"list\":[1,\"é\"]}"
      const messages: ReadonlyArray<Message.Message> = [
        ...question,
        { role: "assistant", content: " hi ", toolCalls: [{ function: { name: "f", arguments: values } }] },
        { role: "tool", content: "a" },
        { role: "tool", content: "b" }
      ]
      assert.strictEqual(
        yield* Rendered.prompt(renderer, qwen, messages),
        `${turn}<think>\n\n</think>\n\nhi\n\n<tool_call>\n<function=f>\n<parameter=ok>\nTrue\n</parameter>\n`
          + "<parameter=none>\nNone\n</parameter>\n<parameter=x>\n1.0\n</parameter>\n<parameter=s>\né\n</parameter>\n"
          + "<parameter=list>\n[1, \"\\u00e9\"]\n</parameter>\n</function>\n</tool_call><|im_end|>\n"
          + "<|im_start|>user\n<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response><|im_end|>\n"
          + "<|im_start|>assistant\n<think>\n"
      )
    }))

  it.effect("writes the separator before calls even if the list of calls is empty", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const text = yield* Rendered.supervised(renderer, qwen, [
        ...question,
        { role: "assistant", content: "4", toolCalls: [] }
      ])
      assert.strictEqual(text, `${turn}<think>\n⟦\n</think>\n\n4\n\n<|im_end|>⟧`)
    }))

  it.effect("begins the turn to generate with the given role", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      assert.strictEqual(
        yield* Rendered.prompt(renderer, qwen, [], { role: "tool" }),
        "<|im_start|>tool\n<think>\n"
      )
    }))

  it.effect("arguments other than an object are refused", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const message: Message.Message = {
        role: "assistant",
        content: "",
        toolCalls: [{ function: { name: "f", arguments: "[1]" } }]
      }
      const error = yield* Effect.flip(renderer.generationPrompt([message]))
      assert.include(error.message, "arguments of the tool call \"f\" are [1], expected an object")
    }))

  it.effect("without tools, the system prompt is unchanged", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      assert.deepStrictEqual(yield* renderer.toolsPrefix?.([], "SYS") ?? Effect.succeed([]), [Message.system("SYS")])
    }))
})

describe("qwen3_5 parsing", () => {
  it.effect.each(
    [
      ["r\n</think>\n\n4", [{ type: "thinking", thinking: "r" }, { type: "text", text: "4" }]],
      ["\n</think>\n\n4", [{ type: "text", text: "4" }]],
      ["<think>\nr\n</think>\n\n4", [{ type: "thinking", thinking: "r" }, { type: "text", text: "4" }]],
      ["<think>\n\n</think>\n\n4", [{ type: "text", text: "4" }]],
      ["<think>r</think>4", [{ type: "thinking", thinking: "r" }, { type: "text", text: "4" }]],
      ["4", "4"]
    ] as const
  )("parses %j with a single thinking block", ([response, content]) =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const parsed = yield* renderer.parse(qwen.encode(`${response}<|im_end|>`))
      assert.deepStrictEqual(parsed.message.content, content)
      assert.strictEqual(parsed.termination, "stop_sequence")
    }))

  it.effect("lists JSON calls before XML calls, wherever they are written", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const xml = "<tool_call>\n<function=get>\n<parameter=city>\nSF\n</parameter>\n<parameter=n>\n2\n</parameter>\n"
        + "</function>\n</tool_call>"
      const json = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
      const parsed = yield* renderer.parse(qwen.encode(`</think>${xml}${json}<|im_end|>`))
      assert.deepStrictEqual(parsed.message.toolCalls?.map((call) => call.function), [
        { name: "f", arguments: "{}" },
        { name: "get", arguments: "{\"city\": \"SF\", \"n\": 2}" }
      ])
    }))

  it.effect.each(
    [
      [" f ", "<parameter= a >1</parameter>", { name: "f", arguments: "{\"a\": 1}" }],
      ["f", "<parameter=a>\n<function=g>\n</parameter>", { name: "f", arguments: "{\"a\": \"<function=g>\"}" }],
      ["f", "<parameter=a>\n</function>\n</parameter>", { name: "f", arguments: "{\"a\": \"</function>\"}" }]
    ] as const
  )("parses a call of %j with %j", ([name, body, expected]) =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const block = `<tool_call>\n<function=${name}>\n${body}\n</function>\n</tool_call>`
      const parsed = yield* renderer.parse(qwen.encode(`${block}<|im_end|>`))
      assert.deepStrictEqual(parsed.message.toolCalls?.map((call) => call.function), [expected])
    }))

  it.effect("lists the calls it cannot parse in the order they were written", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const xml = "<tool_call><function= ></function></tool_call>"
      const json = "<tool_call>{}</tool_call>"
      const parsed = yield* renderer.parse(qwen.encode(`${xml}${json}<|im_end|>`))
      assert.deepStrictEqual(parsed.message.unparsedToolCalls?.map((call) => call.rawText), [xml, json])
    }))

  it.effect.each([
    "<tool_call>\n<function=f>\n<parameter=a>1</parameter>junk</function></tool_call>",
    "<tool_call><function=></function></tool_call>",
    "<tool_call>\n<function= >\n</function>\n</tool_call>",
    "<tool_call>\n<function=f\ng>\n</function>\n</tool_call>",
    "<tool_call>\n<function=f>\n<parameter= >1</parameter>\n</function>\n</tool_call>",
    "<tool_call><function=f></function><function=g></function></tool_call>"
  ])("does not repair %j", (block) =>
    Effect.gen(function*() {
      const renderer = yield* Qwen35.qwen35(qwen)
      const parsed = yield* renderer.parse(qwen.encode(`${block}<|im_end|>`))
      assert.deepStrictEqual(parsed.message.content, [])
      assert.isUndefined(parsed.message.toolCalls)
      assert.deepStrictEqual(parsed.message.unparsedToolCalls?.map((call) => call.rawText), [block])
    }))
})
