import { Message } from "@effect-rl/core"
import { Renderer, Renderers, type ToolSpec } from "@effect-rl/core/renderers"
import * as Qwen3 from "@effect-rl/core/renderers/qwen/Qwen3"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CharTokenizer from "../CharTokenizer.ts"
import * as Rendered from "../Rendered.ts"
import * as VocabularyTokenizer from "../VocabularyTokenizer.ts"

const { qwen } = CharTokenizer
const question = [Message.system("Be terse."), Message.user("What is 2+2?")]
const framedQuestion = "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nWhat is 2+2?<|im_end|>\n"

const reasoned = (thinking: string, text: string): Message.Message => ({
  role: "assistant",
  content: [{ type: "thinking", thinking }, { type: "text", text }]
})

describe("qwen3 examples", () => {
  it.effect.each(
    [
      ["qwen3", "<|im_start|>assistant\n⟦<think>\n\n</think>\n\n4<|im_end|>⟧"],
      ["qwen3_disable_thinking", "<|im_start|>assistant\n<think>\n\n</think>\n\n⟦4<|im_end|>⟧"],
      ["qwen3_instruct", "<|im_start|>assistant\n⟦4<|im_end|>⟧"]
    ] as const
  )("%s trains the text after its own prompt", ([name, turn]) =>
    Effect.gen(function*() {
      const renderer = yield* Renderers.byName(name, qwen)
      const text = yield* Rendered.supervised(renderer, qwen, [...question, Message.assistant("4")])
      assert.strictEqual(text, framedQuestion + turn)
      const prompt = yield* Rendered.prompt(renderer, qwen, question)
      assert.strictEqual(prompt, text.slice(0, text.indexOf("⟦")))
    }))

  it.effect("qwen3 keeps only the thinking of the last turn", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const messages = [Message.user("A?"), reasoned("think a", "a"), Message.user("B?"), reasoned("think b", "b")]
      assert.strictEqual(
        yield* Rendered.supervised(renderer, qwen, messages),
        "<|im_start|>user\nA?<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n<|im_start|>user\nB?<|im_end|>\n"
          + "<|im_start|>assistant\n⟦<think>\nthink b\n</think>\n\nb<|im_end|>⟧"
      )
    }))

  it.effect("a stray closing tag in text yields one thinking block, as in the model's own template", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const text = yield* Rendered.supervised(renderer, qwen, [
        Message.user("q"),
        Message.assistant("r\n</think>\n\n4")
      ])
      assert.strictEqual(
        text,
        "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n⟦<think>\nr\n</think>\n\n4<|im_end|>⟧"
      )
    }))
})

describe("qwen3 thinking and calls", () => {
  const calls = [{ function: { name: "f", arguments: "{}" } }]
  const block = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"

  it.effect("separates thinking from calls if the message has no text", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const content: ReadonlyArray<Message.ContentPart> = [{ type: "thinking", thinking: "r" }]
      const text = yield* Rendered.supervised(renderer, qwen, [
        Message.user("q"),
        { role: "assistant", content, toolCalls: calls }
      ])
      assert.include(text, `<think>\nr\n</think>\n\n\n${block}<|im_end|>`)
    }))

  it.effect("writes nothing before calls if the message has neither text nor thinking", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const text = yield* Rendered.supervised(renderer, qwen, [
        Message.user("q"),
        { role: "assistant", content: "", toolCalls: calls }
      ])
      assert.include(text, `<think>\n\n</think>\n\n${block}<|im_end|>`)
    }))

  it.effect("leaves a string with an unclosed thinking block unchanged", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const text = yield* Rendered.supervised(renderer, qwen, [Message.user("q"), Message.assistant("<think>r")])
      assert.include(text, "<|im_start|>assistant\n⟦<think>r<|im_end|>⟧")
    }))
})

describe("qwen3_disable_thinking", () => {
  it.effect("accepts an empty answer in a conversation without a user", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3DisableThinking(qwen)
      assert.strictEqual(
        yield* Rendered.prompt(renderer, qwen, [Message.assistant("")]),
        "<|im_start|>assistant\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
      )
    }))

  it.effect("begins the turn to generate with the given role", () =>
    Effect.gen(function*() {
      const closed = yield* Qwen3.qwen3DisableThinking(qwen)
      const open = yield* Qwen3.qwen3(qwen)
      const options = { role: "tool" }
      assert.strictEqual(
        yield* Rendered.prompt(closed, qwen, [], options),
        "<|im_start|>tool\n<think>\n\n</think>\n\n"
      )
      assert.strictEqual(yield* Rendered.prompt(open, qwen, [], options), "<|im_start|>user\n")
    }))

  it.effect("never trains a turn that contains reasoning", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3DisableThinking(qwen)
      const error = yield* Effect.flip(
        renderer.supervisedExample([...question, reasoned("hm", "4")], "last_assistant_message")
      )
      assert.include(
        error.message,
        "message 2 does not begin as its prompt does: thinking is off, but this turn reasons"
      )
      const inline = [...question, Message.assistant("hm</think>4")]
      assert.strictEqual(
        (yield* Effect.flip(renderer.supervisedExample(inline, "last_assistant_message")))._tag,
        "RendererError"
      )
    }))

  it.effect("refuses a prompt that ends with an answer if no user message precedes the answer", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3DisableThinking(qwen)
      const error = yield* Effect.flip(renderer.generationPrompt([Message.system("s"), Message.assistant("a")]))
      assert.include(error.message, "add a user message")
    }))
})

const call = (name: string, values: string): Message.ToolCall => ({ function: { name, arguments: values } })

describe("qwen3 tools", () => {
  const lookup: ToolSpec.ToolSpec = {
    name: "get",
    description: "Get it",
    parameters: {
      type: "object",
      properties: { city: { type: "string", description: "City" }, n: { type: "integer", default: 3 } },
      required: ["city"]
    }
  }

  it.effect("are declared after the system prompt", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const [message] = yield* renderer.toolsPrefix?.([lookup], "SYS") ?? Effect.succeed([])
      const text = message === undefined ? "" : Message.text(message)
      assert.strictEqual(text.length, 614)
      assert.isTrue(text.startsWith("SYS\n\n# Tools\n"))
      assert.include(
        text,
        "{\"type\": \"function\", \"function\": {\"name\": \"get\", \"description\": \"Get it\", \"parameters\": {"
      )
    }))

  it.effect("leave the system prompt unchanged if there are none", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      assert.deepStrictEqual(yield* renderer.toolsPrefix?.([], "SYS") ?? Effect.succeed([]), [Message.system("SYS")])
    }))

  it.effect("have their answers in a user message", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3Instruct(qwen)
      const messages: ReadonlyArray<Message.Message> = [
        Message.user("Weather?"),
        { role: "assistant", content: "Let me see.", toolCalls: [call("get", "{\"city\":\"Zürich\",\"n\":1e5}")] },
        { role: "tool", content: "mild" }
      ]
      assert.strictEqual(
        yield* Rendered.prompt(renderer, qwen, messages),
        "<|im_start|>user\nWeather?<|im_end|>\n<|im_start|>assistant\nLet me see.\n<tool_call>\n"
          + "{\"name\": \"get\", \"arguments\": {\"city\": \"Z\\u00fcrich\", \"n\": 100000.0}}\n</tool_call><|im_end|>\n"
          + "<|im_start|>user\n<tool_response>\nmild\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
      )
    }))

  it.effect("refuse arguments that are not JSON", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const messages: ReadonlyArray<Message.Message> = [{
        role: "assistant",
        content: "",
        toolCalls: [call("get", "{bad}")]
      }]
      const error = yield* Effect.flip(renderer.generationPrompt(messages))
      assert.include(error.message, "arguments of the tool call \"get\" are not JSON: expected a key in double quotes")
    }))
})

describe("qwen3 parsing", () => {
  it.effect("keeps a response that was cut unchanged", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const parsed = yield* renderer.parse(qwen.encode("<think>r</think>4"))
      assert.deepStrictEqual(parsed, { message: Message.assistant("<think>r</think>4"), termination: "malformed" })
      assert.deepStrictEqual(Renderer.failure(parsed)?.kind, "structural")
    }))

  it.effect("refuses a response with two stop tokens", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const error = yield* Effect.flip(renderer.parse(qwen.encode("4<|im_end|><|im_end|>")))
      assert.include(error.message, "expected at most one stop token")
    }))

  it.effect("keeps the calls that it can parse, and lists those that it cannot with the error", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const good = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1.0}, \"id\": \"c1\"}\n</tool_call>"
      const bad = "<tool_call>\n{\"name\": 1, \"arguments\": {}}\n</tool_call>"
      const parsed = yield* renderer.parse(qwen.encode(`${good}${bad}<tool_call>{<|im_end|>`))
      assert.deepStrictEqual(parsed.message.toolCalls, [{
        id: "c1",
        function: { name: "f", arguments: "{\"x\": 1.0}" }
      }])
      assert.deepStrictEqual(parsed.message.unparsedToolCalls, [
        { rawText: bad, error: "Missing or invalid 'name' field: expected a string" },
        { rawText: "<tool_call>{", error: "unterminated tool block: expected </tool_call>" }
      ])
      assert.strictEqual(Renderer.failure(parsed)?.kind, "content")
    }))

  it.effect("parses very many opening tags quickly", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(qwen)
      const text = "<think>".repeat(50_000)
      const parsed = yield* renderer.parse(qwen.encode(`${text}<|im_end|>`))
      assert.deepStrictEqual(parsed.message.content, [{ type: "text", text }])
    }))
})

describe("qwen3 with the model's vocabulary", () => {
  it.effect("splits control tokens in user text", () =>
    Effect.gen(function*() {
      const renderer = yield* Qwen3.qwen3(VocabularyTokenizer.of("qwen3"))
      const prompt = yield* renderer.generationPrompt([Message.user("a<|im_end|>b<think>")])
      const ids = prompt.chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : [])
      const text = [64, 27, 91, 318, 6213, 91, 29, 65, 151667]
      assert.deepStrictEqual(ids, [151644, 872, 198, ...text, 151645, 198, 151644, 77091, 198])
    }))
})
