/** Laws of every renderer. */
import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { type Renderer, Renderers, ResponseStream } from "@effect-rl/core/renderers"
import { RendererLaws } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as CharTokenizer from "./CharTokenizer.ts"
import * as Conversations from "./Conversations.ts"
import * as Families from "./Families.ts"

const { make } = Families
const { Turns } = Conversations

/** A small number of runs for each law, because there are many renderers. */
const some = { arbitrary: { runs: 10 } }

const promptTokens = (renderer: Renderer.Renderer, messages: ReadonlyArray<Message.Message>) =>
  Effect.flatMap(renderer.generationPrompt(messages), ModelInput.toTokens)

const startsWith = (tokens: Int32Array, prefix: Int32Array) => prefix.every((token, index) => token === tokens[index])

/** The tokens that a model would sample for the last message, after the prompt of the earlier messages. */
const response = Effect.fnUntraced(function*(
  renderer: Renderer.Renderer,
  messages: ReadonlyArray<Message.Message>
) {
  const prompt = yield* promptTokens(renderer, messages.slice(0, -1))
  const { input, weights } = yield* renderer.supervisedExample(messages, "last_assistant_message")
  const tokens = yield* ModelInput.toTokens(input)
  return startsWith(tokens, prompt)
    ? tokens.subarray(prompt.length)
    : tokens.filter((_, index) => weights[index] === 1)
})

describe("Renderers.byName", () => {
  it.effect("suggests the nearest name and lists all names", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Renderers.byName("qwen3-instruct", CharTokenizer.qwen))
      assert.include(
        error.message,
        "no such renderer; did you mean \"qwen3_instruct\"? Choose from: role_colon, llama3,"
      )
    }))

  it.effect.each(Families.names)("%s has the requested name", (name) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* make(name)).name, name)
    }))
})

describe("smollm2", () => {
  const text = Effect.fnUntraced(function*(messages: ReadonlyArray<Message.Message>) {
    return CharTokenizer.qwen.decode(yield* promptTokens(yield* make("smollm2"), messages))
  })

  it.effect("starts with the model's default system message unless the conversation has one", () =>
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

describe.each(Families.names)("%s", (name) => {
  it.effect.prop(
    "trains the tokens after the generation prompt and nothing of the prompt",
    [Turns],
    ([turns]) =>
      Effect.gen(function*() {
        if (Families.leavesItsPrompt(name)) return
        const renderer = yield* make(name)
        for (const messages of Conversations.endingWithAssistant(Conversations.messages(name, turns))) {
          const prompt = yield* promptTokens(renderer, messages.slice(0, -1))
          const { input, weights } = yield* renderer.supervisedExample(messages, "last_assistant_message")
          const tokens = yield* ModelInput.toTokens(input)
          assert.deepStrictEqual(tokens.subarray(0, prompt.length), prompt)
          assert.deepStrictEqual([...weights], Array.from(tokens, (_, index) => Number(index >= prompt.length)))
        }
      }),
    some
  )

  it.effect.prop("parses the messages that it writes", [Turns], ([turns]) =>
    Effect.gen(function*() {
      const renderer = yield* make(name)
      for (const messages of Conversations.endingWithAssistant(Conversations.messages(name, turns))) {
        const last = messages.at(-1) ?? Message.assistant("")
        const parsed = yield* renderer.parse(yield* response(renderer, messages))
        assert.strictEqual(parsed.termination, "stop_sequence")
        assert.deepStrictEqual(Conversations.comparable(parsed.message), Conversations.comparable(last))
        assert.isUndefined(parsed.message.unparsedToolCalls)
      }
    }), some)

  it.effect.prop(
    "begins each later prompt with the earlier prompt and response if it has the extension property",
    [Turns],
    ([turns]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        if (!renderer.hasExtensionProperty) return
        const messages = Conversations.messages(name, Conversations.thinking(turns))
        const later = yield* promptTokens(renderer, [...messages, Message.user("next")])
        for (const earlier of Conversations.endingWithAssistant(messages)) {
          const example = yield* renderer.supervisedExample(earlier, "last_assistant_message")
          const tokens = yield* ModelInput.toTokens(example.input)
          const stop = name === "role_colon" ? CharTokenizer.qwen.encode("User:").length : 0
          const own = tokens.subarray(0, tokens.length - stop)
          assert.deepStrictEqual(later.subarray(0, own.length), own)
        }
      }),
    some
  )

  it.effect("puts a prefill after the prompt", () =>
    Effect.gen(function*() {
      const renderer = yield* make(name)
      const messages = [Message.user("q")]
      const prefill = renderer.generationPrompt(messages, { prefill: "So" })
      if (!Families.takesPrefill(name)) {
        assert.include((yield* Effect.flip(prefill)).message, "a prefill is not a whole message")
        return
      }
      const prefilled = yield* prefill
      assert.deepStrictEqual(
        yield* ModelInput.toTokens(prefilled),
        Int32Array.from([...yield* promptTokens(renderer, messages), ...Families.tokenizerOf(name).encode("So")])
      )
    }))

  it.effect("requires trainable on every message in customized mode, and refuses it in other modes", () =>
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

describe.each(Families.names.filter((name) => !Families.leavesItsPrompt(name)))(
  "%s satisfies the law that it",
  (name) => {
    const laws = RendererLaws.rendererLaws(Effect.runSync(make(name)), Families.tokenizerOf(name))
    for (const { check, name: law } of laws) it.effect(law, () => check)
  }
)

const Marks = Schema.NonEmptyArray(Schema.Struct({ isTrained: Schema.Boolean, answers: Schema.Boolean }))

/** For every message in turn, whether each character of a mark is trained. */
const trainedMarks = Effect.fnUntraced(function*(name: string, example: Renderer.SupervisedExample, count: number) {
  const tokenizer = Families.tokenizerOf(name)
  const tokens = yield* ModelInput.toTokens(example.input)
  const weights = Array.from(
    tokens,
    (token, index) => Array<number>(tokenizer.decode([token]).length).fill(example.weights[index] ?? 0)
  ).flat()
  const text = tokenizer.decode(tokens)
  return Array.from({ length: count }, (_, index) => {
    const mark = `mark-${index};`
    return [...new Set(weights.slice(text.indexOf(mark), text.indexOf(mark) + mark.length))]
  })
})

describe.each(Families.names)("weights of %s", (name) => {
  it.effect.prop(
    "lie exactly on the messages that the mode chooses",
    [Marks],
    ([marks]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        const messages = marks.flatMap((_, index) => [
          Message.user(`mark-${2 * index};`),
          Message.assistant(`mark-${2 * index + 1};`)
        ])
        const flags = marks.flatMap(({ answers, isTrained }) => [isTrained, answers])
        const chosen: Record<string, (index: number) => boolean> = {
          last_assistant_message: (index) => index === messages.length - 1,
          last_assistant_turn: (index) => index === messages.length - 1,
          all_assistant_messages: (index) => index % 2 === 1,
          all_messages: () => true,
          all_tokens: () => true,
          all_user_and_system_messages: (index) => index % 2 === 0,
          customized: (index) => flags[index] ?? false
        }
        for (const [mode, isChosen] of Object.entries(chosen)) {
          const trainOnWhat = yield* Schema.decodeUnknownEffect(Mode)(mode)
          const given = mode === "customized"
            ? messages.map((message, index) => ({ ...message, trainable: flags[index] ?? false }))
            : messages
          if (Families.endsWithTrained(name) && !messages.some((_, index) => isChosen(index))) continue
          const example = yield* renderer.supervisedExample(given, trainOnWhat)
          const trained = yield* trainedMarks(name, example, messages.length)
          const kept = Families.endsWithTrained(name)
            ? messages.findLastIndex((_, index) => isChosen(index)) + 1
            : messages.length
          assert.deepStrictEqual(
            trained,
            messages.map((_, index) => index < kept ? [Number(isChosen(index))] : []),
            mode
          )
        }
      }),
    some
  )
})

const Mode = Schema.Literals([
  "last_assistant_message",
  "last_assistant_turn",
  "all_assistant_messages",
  "all_messages",
  "all_tokens",
  "all_user_and_system_messages",
  "customized"
])

/** The sum of the deltas of a response that arrives in pieces of these lengths. */
const streamed = Effect.fnUntraced(function*(
  renderer: Renderer.Renderer,
  conversation: ReadonlyArray<Message.Message>,
  tokens: Int32Array,
  lengths: ReadonlyArray<number>
) {
  const pieces: Array<Int32Array> = []
  for (let at = 0, index = 0; at < tokens.length; index++) {
    const length = lengths[index % Math.max(1, lengths.length)] ?? tokens.length
    pieces.push(tokens.subarray(at, at + length))
    at += length
  }
  const events = yield* Stream.runCollect(
    ResponseStream.events(renderer, conversation, Stream.fromIterable(pieces))
  )
  const parts: Array<{ kind: string; text: string }> = []
  const calls: Array<Message.ToolCall> = []
  const unparsed: Array<string> = []
  let done: Renderer.Parsed | undefined
  for (const event of events) {
    if (event._tag === "ToolCall") calls.push(event.toolCall)
    else if (event._tag === "UnparsedToolCall") unparsed.push(event.unparsedToolCall.rawText)
    else if (event._tag === "Done") done = event.parsed
    else {
      const text = event._tag === "Text" ? event.text : event.thinking
      parts[event.part] = { kind: event._tag, text: (parts[event.part]?.text ?? "") + text }
    }
  }
  return { parts, calls, unparsed, done }
})

const Lengths = Schema.NonEmptyArray(Schema.Literals([1, 2, 3, 5, 8, 40]))

const partsOf = (message: Message.Message) =>
  Message.parts(message).flatMap((part) => {
    if (part.type === "image") return []
    const said = part.type === "text" ? { kind: "Text", text: part.text } : { kind: "Thinking", text: part.thinking }
    return said.text === "" ? [] : [said]
  })

describe.each(Families.names)("streaming %s", (name) => {
  it.effect.prop(
    "adds up to the message that is parsed at once",
    [Turns, Lengths],
    ([turns, lengths]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        const said = Families.leavesItsPrompt(name) ? Conversations.thinking(turns) : turns
        for (const messages of Conversations.endingWithAssistant(Conversations.messages(name, said))) {
          const tokens = yield* response(renderer, messages)
          const parsed = yield* renderer.parse(tokens)
          const read = yield* streamed(renderer, messages.slice(0, -1), tokens, lengths)
          assert.deepStrictEqual(read.done, parsed)
          assert.deepStrictEqual(read.parts, partsOf(parsed.message))
          assert.deepStrictEqual(read.calls, parsed.message.toolCalls ?? [])
        }
      }),
    some
  )

  it.effect("adds up to the same message wherever a response is split in two", () =>
    Effect.gen(function*() {
      const renderer = yield* make(name)
      const turns: ReadonlyArray<Conversations.Turn> = [{
        asks: ["two"],
        thinks: ["hm", "a\nb"],
        steps: [{ calls: [{ name: "get", values: [["city", "naïve"], ["n", [1, 2]]] }], says: ["Because:", "{x}"] }],
        answers: ["4", "😀"]
      }]
      const said = Families.leavesItsPrompt(name) ? Conversations.thinking(turns) : turns
      for (const messages of Conversations.endingWithAssistant(Conversations.messages(name, said))) {
        const tokens = yield* response(renderer, messages)
        const whole = yield* streamed(renderer, messages.slice(0, -1), tokens, [tokens.length])
        assert.deepStrictEqual(whole.done, yield* renderer.parse(tokens))
        for (let at = 1; at < tokens.length; at++) {
          const read = yield* streamed(renderer, messages.slice(0, -1), tokens, [at, tokens.length])
          assert.deepStrictEqual(read, whole, `cut after ${at} of ${tokens.length} tokens`)
        }
      }
    }))

  const tags = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    ...CharTokenizer.specials(Families.familyOf(name)),
    "{\"name\": \"f\", \"arguments\": {}}",
    "to=functions.f",
    "analysis",
    "final",
    "\n",
    " ",
    "4",
    "\n\nUser:"
  ]
  const Soup = Schema.Array(Schema.Literals(tags))
  it.effect.prop(
    "does not depend on where a response is split",
    [Soup, Lengths],
    ([soup, lengths]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        const tokens = Families.tokenizerOf(name).encode(soup.join(""))
        const conversation = [Message.user("q")]
        const whole = yield* Effect.exit(streamed(renderer, conversation, tokens, [tokens.length]))
        assert.deepStrictEqual(yield* Effect.exit(streamed(renderer, conversation, tokens, lengths)), whole)
      }),
    some
  )
})

const Attack = Schema.Literals(["role", "begin", "end", "text", "line", "system", "part"])

describe.each(Families.names.filter((name) => name !== "role_colon"))("a message of %s", (name) => {
  it.effect.prop(
    "cannot end its turn or start another one",
    [Schema.Array(Attack)],
    ([attack]) =>
      Effect.gen(function*() {
        const renderer = yield* make(name)
        const specials = CharTokenizer.specials(Families.familyOf(name))
        const words: Record<typeof Attack.Type, string> = {
          role: specials[0] ?? "",
          begin: specials[1] ?? "",
          end: specials.at(-1) ?? "",
          text: specials.join(""),
          line: "\n",
          system: "system",
          part: "<|im_"
        }
        const hostile = attack.map((word) => words[word]).join("")
        const count = Effect.fnUntraced(function*(text: string) {
          const tokens = yield* promptTokens(renderer, [
            Message.user(`x${text}x`),
            Message.assistant(`x${text.replace(/<\/?think>/g, "")}x`),
            ...(Families.maxCalls(name) > 0
              ? [{ role: "tool", content: `x${text}x`, name: "f", toolCallId: "1" }]
              : []),
            Message.user("q")
          ])
          return specials.map((special) => {
            const id = Families.tokenizerOf(name).specialToken(special)
            return tokens.filter((token) => token === id).length
          })
        })
        assert.deepStrictEqual(yield* count(hostile), yield* count(""))
      }),
    some
  )
})

describe("supervisedExamples", () => {
  const messages = [Message.user("a"), Message.assistant("b"), Message.user("c"), Message.assistant("d")]

  it.effect("gives one example if prompts extend each other", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3_instruct")
      const examples = yield* renderer.supervisedExamples(messages, "all_assistant_messages")
      assert.deepStrictEqual(examples, [yield* renderer.supervisedExample(messages, "all_assistant_messages")])
    }))

  it.effect("gives one example per answer if prompts do not extend each other", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3")
      assert.deepStrictEqual(yield* renderer.supervisedExamples(messages, "all_assistant_messages"), [
        yield* renderer.supervisedExample(messages.slice(0, 2), "last_assistant_message"),
        yield* renderer.supervisedExample(messages, "last_assistant_message")
      ])
    }))

  it.effect("refuses to split conversations in modes that train other roles", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3")
      const error = yield* Effect.flip(renderer.supervisedExamples(messages, "all_messages"))
      assert.include(error.message, "\"all_messages\" cannot be split")
    }))
})
