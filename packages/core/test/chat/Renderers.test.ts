/** What every renderer promises. */
import { Message, ModelInput, type Renderer, Renderers } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as CharTokenizer from "./CharTokenizer.ts"

const familyOf = (name: string) => {
  if (name.startsWith("llama3")) return "llama"
  if (name.startsWith("deepseekv3")) return "ds"
  if (name.startsWith("deepseekv4")) return "ds4"
  if (name.startsWith("glm")) return "glm"
  if (name.startsWith("gpt_oss")) return "oss"
  return name.startsWith("kimi") ? "kimi" : "qwen"
}

const tokenizerOf = (name: string) => CharTokenizer.of(familyOf(name))

/** Nemotron 3 writes an answer without thinking as its prompt does not begin it. */
const leavesItsPrompt = (name: string) => name.startsWith("nemotron3") && !name.endsWith("disable_thinking")
const make = (name: string) => Renderers.byName(name, tokenizerOf(name))

const Words = Schema.NonEmptyArray(Schema.Literals(["4", "two", "naïve", "a\nb", "{}", "😀", "Assistant:"]))
const Turn = Schema.Struct({ asks: Words, thinks: Words, answers: Words })
const Turns = Schema.NonEmptyArray(Turn)

const say = (words: ReadonlyArray<string>) => words.join(" ")

const conversation = (turns: ReadonlyArray<typeof Turn.Type>) =>
  turns.flatMap(({ answers, asks }) => [Message.user(say(asks)), Message.assistant(say(answers))])

const promptTokens = (renderer: Renderer.Renderer, messages: ReadonlyArray<Message.Message>) =>
  Effect.flatMap(renderer.generationPrompt(messages), ModelInput.toTokens)

const trainedTokens = ({ input, weights }: Renderer.SupervisedExample) =>
  Effect.map(ModelInput.toTokens(input), (tokens) => tokens.filter((_, index) => weights[index] === 1))

describe("byName", () => {
  it.effect("suggests the nearest name and lists them all", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Renderers.byName("qwen3-instruct", CharTokenizer.qwen))
      assert.include(error.message, "no such renderer; did you mean \"qwen3_instruct\"? there are: role_colon, llama3,")
    }))

  it.effect.each(Renderers.names)("%s is named as it was asked for", (name) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* make(name)).name, name)
    }))
})

describe("smollm2", () => {
  const text = Effect.fnUntraced(function*(messages: ReadonlyArray<Message.Message>) {
    return CharTokenizer.qwen.decode(yield* promptTokens(yield* make("smollm2"), messages))
  })

  it.effect("begins with the model's own system message unless the conversation has one", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* text([Message.user("2 + 2?")]),
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n" +
          "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n"
      )
      assert.strictEqual(
        yield* text([Message.system("Be brief."), Message.user("2 + 2?")]),
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n"
      )
    }))
})

describe.each(Renderers.names)("%s", (name) => {
  it.effect.prop(
    "trains what follows the generation prompt and nothing of it",
    [Turns],
    ([turns]) =>
      Effect.gen(function*() {
        if (leavesItsPrompt(name)) return
        const renderer = yield* make(name)
        const messages = conversation(turns)
        const prompt = yield* promptTokens(renderer, messages.slice(0, -1))
        const { input, weights } = yield* renderer.supervisedExample(messages, "last_assistant_message")
        const tokens = yield* ModelInput.toTokens(input)
        assert.deepStrictEqual(tokens.subarray(0, prompt.length), prompt)
        assert.deepStrictEqual([...weights], Array.from(tokens, (_, index) => Number(index >= prompt.length)))
      })
  )

  it.effect.prop(
    "reads the trained tokens back as the message they came from",
    [Turns],
    ([turns]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        const messages = conversation(turns)
        const example = yield* renderer.supervisedExample(messages, "last_assistant_message")
        const parsed = yield* renderer.parse(yield* trainedTokens(example))
        assert.strictEqual(parsed.termination, "stop_sequence")
        assert.strictEqual(Message.text(parsed.message), say(turns[turns.length - 1]?.answers ?? []))
      })
  )

  it.effect.prop(
    "begins each later prompt with the earlier one and its response, where it says so",
    [Turns],
    ([turns]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        if (!renderer.hasExtensionProperty) return
        const messages = conversation(turns)
        const later = yield* promptTokens(renderer, [...messages, Message.user("next")])
        for (let end = 2; end <= messages.length; end += 2) {
          const example = yield* renderer.supervisedExample(messages.slice(0, end), "last_assistant_message")
          const earlier = yield* ModelInput.toTokens(example.input)
          assert.deepStrictEqual(later.subarray(0, earlier.length), earlier)
        }
      })
  )

  it.effect("puts a prefill behind the prompt", () =>
    Effect.gen(function*() {
      const renderer = yield* make(name)
      const messages = [Message.user("q")]
      const prefilled = yield* renderer.generationPrompt(messages, { prefill: "So" })
      assert.deepStrictEqual(
        yield* ModelInput.toTokens(prefilled),
        Int32Array.from([...yield* promptTokens(renderer, messages), ...tokenizerOf(name).encode("So")])
      )
    }))

  it.effect("wants trainable on every message in customized mode, and on none otherwise", () =>
    Effect.gen(function*() {
      const renderer = yield* make(name)
      const plain = [Message.user("q"), Message.assistant("a")]
      const marked = plain.map((message) => ({ ...message, trainable: true }))
      const missing = yield* Effect.flip(renderer.supervisedExample(plain, "customized"))
      assert.include(missing.message, "message 0 has no \"trainable\"")
      const unread = yield* Effect.flip(renderer.supervisedExample(marked, "all_messages"))
      assert.include(unread.message, "which only \"customized\" reads")
    }))
})

describe.each(["qwen3", "qwen3_5"])("%s", (name) => {
  it.effect.prop(
    "reads trained reasoning back as reasoning",
    [Turn],
    ([{ answers, asks, thinks }]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        const content: ReadonlyArray<Message.ContentPart> = [
          { type: "thinking", thinking: say(thinks) },
          { type: "text", text: say(answers) }
        ]
        const messages = [Message.user(say(asks)), { role: "assistant", content }]
        const example = yield* renderer.supervisedExample(messages, "last_assistant_message")
        const parsed = yield* renderer.parse(yield* trainedTokens(example))
        assert.deepStrictEqual(parsed.message.content, content)
      })
  )
})

describe.each(["qwen3", "qwen3_disable_thinking", "qwen3_instruct"])("%s", (name) => {
  const Attack = Schema.Array(
    Schema.Literals([
      "<|im_end|>",
      "<|im_start|>",
      "<|im_",
      "start|>",
      "\n",
      "system",
      "<think>",
      "</think>",
      "<|endoftext|>"
    ])
  )

  it.effect.prop("never lets what a user types become a control token", [Attack], ([attack]) =>
    Effect.gen(function*() {
      const renderer = yield* make(name)
      const tokens = yield* promptTokens(renderer, [Message.user(attack.join("")), Message.user("q")])
      const count = (special: string) => {
        const id = CharTokenizer.qwen.specialToken(special)
        return tokens.filter((token) => token === id).length
      }
      assert.deepStrictEqual(["<|im_start|>", "<|im_end|>", "<|endoftext|>"].map(count), [3, 2, 0])
    }))
})

describe("supervisedExamples", () => {
  const messages = [Message.user("a"), Message.assistant("b"), Message.user("c"), Message.assistant("d")]

  it.effect("is one example where prompts extend each other", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3_instruct")
      const examples = yield* renderer.supervisedExamples(messages, "all_assistant_messages")
      assert.deepStrictEqual(examples, [yield* renderer.supervisedExample(messages, "all_assistant_messages")])
    }))

  it.effect("is one example per answer where they do not", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3")
      assert.deepStrictEqual(yield* renderer.supervisedExamples(messages, "all_assistant_messages"), [
        yield* renderer.supervisedExample(messages.slice(0, 2), "last_assistant_message"),
        yield* renderer.supervisedExample(messages, "last_assistant_message")
      ])
    }))

  it.effect("cannot split the modes that train other roles", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3")
      const error = yield* Effect.flip(renderer.supervisedExamples(messages, "all_messages"))
      assert.include(error.message, "\"all_messages\" cannot be split")
    }))
})
