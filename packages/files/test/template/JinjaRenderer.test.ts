import { Message } from "@effect-rl/core"
import type { ModelInput } from "@effect-rl/core/backend"
import { JinjaRenderer, type Renderer, ResponseStream, type Tokenizer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Templates from "./Templates.ts"

const { assistant, system, user } = Message

const names = ["hermes", "thinker", "mistral", "llama", "plain"] as const

const question = [user("2+2?")]
const talk = [...question, assistant("4"), user("And 3+3?"), assistant("6")]

const call: Message.Message = {
  role: "assistant",
  content: "",
  toolCalls: [{ id: "abcdefgh1", function: { name: "get", arguments: "{\"city\": \"Rome\", \"n\": 2}" } }]
}
const result: Message.Message = { role: "tool", name: "get", toolCallId: "abcdefgh1", content: "Sunny." }

const tools = [{
  name: "get",
  description: "Weather",
  parameters: { type: "object", properties: { city: { type: "string" } } }
}]

const tokensOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : [])

const textOf = (tokenizer: Tokenizer.Tokenizer, input: ModelInput.ModelInput) => tokenizer.decode(tokensOf(input))

const trainedText = (tokenizer: Tokenizer.Tokenizer, { input, weights }: Renderer.SupervisedExample) =>
  tokensOf(input).map((token, index) => weights[index] === 1 ? tokenizer.decode([token]) : "·").join("")
    .replace(/·+/g, "…")

describe("a renderer from a chat template", () => {
  it.effect.each(
    [
      ["hermes", "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"],
      ["thinker", "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n<think>\n"],
      ["mistral", "<s>[INST] 2+2?[/INST]"],
      ["plain", "USER: 2+2?\nASSISTANT:"]
    ] as const
  )("starts a turn in the format of %s", ([name, expected]) =>
    Effect.gen(function*() {
      const tokenizer = Templates.of(name)
      const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
      const prompt = yield* renderer.generationPrompt(question)
      assert.strictEqual(textOf(tokenizer, prompt), expected)
      const begun = yield* renderer.generationPrompt(question, { prefill: "Well" })
      assert.strictEqual(textOf(tokenizer, begun), `${expected}Well`)
    }))

  it.effect("passes given variables to the template, and no date", () =>
    Effect.gen(function*() {
      const thinker = Templates.of("thinker")
      const quiet = yield* JinjaRenderer.fromChatTemplate(thinker, { enable_thinking: false })
      assert.notInclude(textOf(thinker, yield* quiet.generationPrompt(question)), "<think>")
      const llama = Templates.of("llama")
      const dated = yield* JinjaRenderer.fromChatTemplate(llama)
      assert.include(textOf(llama, yield* dated.generationPrompt(question)), "Today is no day.")
    }))

  it.effect.each(
    [
      ["hermes", ["<|im_end|>"]],
      ["thinker", ["<|im_end|>", "<|end|>"]],
      ["mistral", ["</s>"]],
      ["llama", ["<|eot_id|>"]],
      ["plain", ["<eos>"]]
    ] as const
  )("stops at the end of a turn of %s, and at the end of text", ([name, stops]) =>
    Effect.gen(function*() {
      const tokenizer = Templates.of(name)
      const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
      assert.deepStrictEqual(renderer.stop, stops.flatMap((stop) => tokenizer.specialToken(stop) ?? []))
      const ended = yield* renderer.parse(tokenizer.encode(`4${stops[0]}`))
      assert.deepStrictEqual(ended, { message: assistant("4"), termination: "stop_sequence" })
      assert.strictEqual((yield* renderer.parse(tokenizer.encode("4"))).termination, "malformed")
    }))

  const Word = Schema.Literals(["first", "last", "all", "part", "line", "role", "letters"])

  it.effect.prop(
    "never encodes message text as special tokens",
    [Schema.Literals(names), Schema.Array(Word)],
    ([name, words]) =>
      Effect.gen(function*() {
        const tokenizer = Templates.of(name)
        const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
        const special = Templates.families[name].special
        const text: Record<typeof Word.Type, string> = {
          first: special[0] ?? "",
          last: special.at(-1) ?? "",
          all: special.join(""),
          part: (special[0] ?? "").slice(0, 3),
          line: "\n",
          role: "assistant",
          letters: "hi"
        }
        const hostile = words.map((word) => text[word]).join("")
        const prompt = (said: string) => {
          const calling = {
            ...call,
            toolCalls: [{ id: "abcdefgh1", function: { name: "get", arguments: JSON.stringify({ [said]: said }) } }]
          }
          const tools = name === "plain" || name === "thinker" ? [] : [calling, { ...result, content: `x${said}x` }]
          return renderer.generationPrompt([user(`x${said}x`), ...tools, assistant(`x${said}x`), user(`x${said}x`)])
        }
        const counts = (input: ModelInput.ModelInput) =>
          special.map((each) => tokensOf(input).filter((token) => tokenizer.specialToken(each) === token).length)
        const written = yield* prompt(hostile)
        assert.deepStrictEqual(counts(written), counts(yield* prompt("")))
        assert.include(textOf(tokenizer, written), `x${hostile}x`)
      }),
    { arbitrary: { runs: 60 } }
  )

  it.effect.each(
    [["hermes", false], ["thinker", false], ["mistral", false], ["llama", false], ["plain", true]] as const
  )(
    "tells whether ordinary text ends the turns of %s: %s",
    ([name, expected]) =>
      Effect.gen(function*() {
        const { limits } = yield* JinjaRenderer.measure(Templates.of(name))
        const forged = "messages: their ends are ordinary text, so a message with that text forges a turn"
        assert.strictEqual(limits.includes(forged), expected)
      })
  )
})

describe("supervised examples", () => {
  it.effect.each(
    [
      ["hermes", "…4<|im_end|>…6<|im_end|>…"],
      ["mistral", "… 4</s>… 6</s>"],
      ["llama", "…4<|eot_id|>…6<|eot_id|>"],
      ["plain", "… 4<eos>… 6<eos>…"]
    ] as const
  )("train the assistant's text in the format of %s", ([name, expected]) =>
    Effect.gen(function*() {
      const tokenizer = Templates.of(name)
      const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
      const example = yield* renderer.supervisedExample(talk, "all_assistant_messages")
      assert.strictEqual(trainedText(tokenizer, example), expected)
      const last = yield* renderer.supervisedExample(talk, "last_assistant_message")
      assert.strictEqual(trainedText(tokenizer, last), expected.replace(/^….*?…/, "…"))
    }))

  it.effect("yield one example per assistant message if the template rewrites history", () =>
    Effect.gen(function*() {
      const tokenizer = Templates.of("thinker")
      const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
      const whole = yield* Effect.flip(renderer.supervisedExample(talk, "all_assistant_messages"))
      assert.include(whole.message, "message 1 is not written after the prompt it is sampled from")
      const examples = yield* renderer.supervisedExamples(talk, "all_assistant_messages")
      assert.deepStrictEqual(examples.map((example) => trainedText(tokenizer, example)), [
        "…\n</think>\n\n4<|im_end|>…",
        "…\n</think>\n\n6<|im_end|>…"
      ])
    }))

  it.effect("train selected messages, and refuse to train messages that are not the assistant's", () =>
    Effect.gen(function*() {
      const tokenizer = Templates.of("hermes")
      const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
      const chosen = (indices: ReadonlyArray<number>) =>
        talk.map((message, index) => ({ ...message, trainable: indices.includes(index) }))
      const example = yield* renderer.supervisedExample(chosen([1]), "customized")
      assert.strictEqual(trainedText(tokenizer, example), "…4<|im_end|>…")
      const other = yield* Effect.flip(renderer.supervisedExample(chosen([2]), "customized"))
      assert.include(other.message, "message 2 of role \"user\" is trainable, expected only assistant messages")
      const all = yield* Effect.flip(renderer.supervisedExample(talk, "all_messages"))
      assert.include(all.message, "\"all_messages\" needs the beginnings of users' messages")
    }))
})

describe("tool calls", () => {
  it.effect.each(["hermes", "mistral", "llama"] as const)(
    "written in the format of %s are parsed",
    (name) =>
      Effect.gen(function*() {
        const tokenizer = Templates.of(name)
        const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
        const example = yield* renderer.supervisedExample([...question, call], "last_assistant_message")
        const response = tokensOf(example.input).filter((_, index) => example.weights[index] === 1)
        const { message, termination } = yield* renderer.parse(Int32Array.from(response))
        assert.strictEqual(termination, "stop_sequence")
        assert.deepStrictEqual(
          message.toolCalls?.map((each) => each.function),
          call.toolCalls?.map((each) => each.function)
        )
      })
  )

  it.effect.each(["hermes", "llama"] as const)(
    "are rendered in the format of %s, with the tools' declarations and the result",
    (name) =>
      Effect.gen(function*() {
        const tokenizer = Templates.of(name)
        const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
        const prefix = yield* renderer.toolsPrefix?.(tools, "Be brief.") ?? Effect.succeed([])
        const prompt = textOf(tokenizer, yield* renderer.generationPrompt([...prefix, ...question, call, result]))
        assert.include(prompt, name === "hermes" ? "\"name\": \"get\"" : "Call a function with")
        assert.include(prompt, "Be brief.")
        assert.include(prompt, "Sunny.")
      })
  )

  it.effect.each(
    [
      ["[TOOL_CALLS]get[ARGS]{\"city\": \"Rome\"}</s>", [{ name: "get", arguments: "{\"city\": \"Rome\"}" }], 0],
      ["[TOOL_CALLS] [{\"name\": 1}]</s>", [], 1],
      ["[TOOL_CALLS] nothing</s>", [], 1]
    ] as const
  )(
    "of Mistral in the form %s are parsed or reported as unparsed",
    ([text, calls, unparsed]) =>
      Effect.gen(function*() {
        const tokenizer = Templates.of("mistral")
        const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
        const { message } = yield* renderer.parse(tokenizer.encode(text))
        assert.deepStrictEqual((message.toolCalls ?? []).map((each) => each.function), [...calls])
        assert.strictEqual(message.unparsedToolCalls?.length ?? 0, unparsed)
      })
  )

  it.effect("are read as text if the template has no known form for them", () =>
    Effect.gen(function*() {
      const tokenizer = Templates.of("plain")
      const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
      assert.isUndefined(renderer.toolsPrefix)
      const { message } = yield* renderer.parse(tokenizer.encode("<tool_call>{}</tool_call><eos>"))
      assert.deepStrictEqual(message, assistant("<tool_call>{}</tool_call>"))
    }))

  const responses = [
    ["hermes", "Let me see.<tool_call>{\"name\": \"get\", \"arguments\": {}}</tool_call><|im_end|>"],
    ["thinker", "\nfour\n</think>\n\n4<|im_end|>"],
    ["mistral", "Well [TOO [TOOL_CALLS] [{\"name\": \"get\", \"arguments\": {}, \"id\": \"abcdefgh1\"}]</s>"],
    ["llama", "{\"name\": \"get\", \"parameters\": {}}<|eot_id|>"],
    ["plain", "one <think>two</think> three<eos>"]
  ] as const
  it.effect.each(responses)(
    "and text of %s are parsed the same token by token as at once",
    ([name, text]) =>
      Effect.gen(function*() {
        const tokenizer = Templates.of(name)
        const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer)
        const tokens = tokenizer.encode(text)
        const pieces = Stream.fromIterable(Array.from(tokens, (token) => [token]))
        const events = yield* Stream.runCollect(ResponseStream.events(renderer, question, pieces))
        const said = (tag: "Text" | "Thinking") =>
          events.flatMap((event) => event._tag === tag ? [event._tag === "Text" ? event.text : event.thinking] : [])
            .join("")
        const { message } = yield* renderer.parse(tokens)
        assert.strictEqual(said("Text"), Message.text(message))
        assert.strictEqual(said("Thinking"), Message.thinking(message))
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "ToolCall" ? [event.toolCall] : []),
          [...message.toolCalls ?? []]
        )
      })
  )
})

describe("a template's measured features", () => {
  it.effect.each(
    [["hermes", true], ["thinker", false], ["mistral", true], ["llama", true], ["plain", true]] as const
  )("tell whether prompts of %s extend each other: %s", ([name, expected]) =>
    Effect.gen(function*() {
      const tokenizer = Templates.of(name)
      const measured = yield* JinjaRenderer.measure(tokenizer)
      assert.strictEqual(measured.hasExtensionProperty, expected, measured.limits.join("\n"))
      assert.strictEqual(
        (yield* JinjaRenderer.fromChatTemplate(tokenizer)).hasExtensionProperty,
        expected
      )
    }))

  it.effect("list what the template cannot do", () =>
    Effect.gen(function*() {
      const { limits } = yield* JinjaRenderer.measure(Templates.of("thinker"))
      assert.deepStrictEqual(limits, [
        "conversations of text: later prompts leave out or change earlier responses",
        "conversations with reasoning: later prompts leave out or change earlier responses",
        "conversations with tool calls: a message of role \"assistant\" has tool calls, which the chat template does not write",
        "tool calls: the template shows no known form, so a call is read as text",
        "training: only assistant messages can be told from what surrounds them",
        "images: not written"
      ])
    }))
})

describe("a failing template yields a RendererError", () => {
  const fail = (effect: Effect.Effect<unknown, Renderer.RendererError>) =>
    Effect.map(Effect.flip(effect), (error) => error.message)

  it.effect("with the message that the template raises", () =>
    Effect.gen(function*() {
      const renderer = yield* JinjaRenderer.fromChatTemplate(Templates.of("mistral"))
      assert.include(
        yield* fail(renderer.generationPrompt([system("Be brief."), ...question])),
        "the chat template failed: Only user, assistant and tool roles are supported"
      )
      const short = { ...call, toolCalls: [{ id: "1", function: { name: "get", arguments: "{}" } }] }
      assert.include(yield* fail(renderer.generationPrompt([...question, short])), "9 letters or digits")
    }))

  it.effect.each(
    [
      ["{% for", "the chat template failed:"],
      ["{{ raise_exception('never') }}", "the chat template failed: never"],
      ["{{ nothing() }}", "the chat template failed:"],
      ["<|im_start|>only this", "does not write an assistant's text"]
    ] as const
  )("for the template %s, before anything is rendered", ([template, expected]) =>
    Effect.gen(function*() {
      assert.include(yield* fail(JinjaRenderer.fromChatTemplate(Templates.withTemplate(template))), expected)
    }))

  const endless = [
    ["in loops", "{% for a in range(999999) %}{% for b in range(999999) %}{% endfor %}{% endfor %}"],
    [
      "in a list that doubles",
      "{% set n = namespace(x=[1]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}"
    ],
    [
      "in a text that doubles",
      "{% set n = namespace(x='ab') %}{% for a in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
    ],
    [
      "in nested lists",
      "{% set n = namespace(x=[]) %}{% for a in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}"
    ]
  ] as const
  it.effect.each(endless)("for a template that does not end, %s", ([, template]) =>
    Effect.gen(function*() {
      const message = yield* fail(JinjaRenderer.fromChatTemplate(Templates.withTemplate(template)))
      assert.include(message, "the chat template failed: it loops for longer than any conversation needs")
    }))

  it.effect("but not for a conversation of ten thousand messages", () =>
    Effect.gen(function*() {
      const renderer = yield* JinjaRenderer.fromChatTemplate(Templates.of("thinker"))
      const long = Array.from({ length: 5000 }, (_, index) => [user(`question ${index}`), assistant("yes")]).flat()
      const prompt = yield* renderer.generationPrompt([...long, ...question])
      assert.isAbove(prompt.length, 100_000)
    }))

  it.effect("for calls that the template does not write", () =>
    Effect.gen(function*() {
      const renderer = yield* JinjaRenderer.fromChatTemplate(Templates.of("plain"))
      const message = yield* fail(renderer.generationPrompt([...question, call, result]))
      assert.include(message, "has tool calls, which the chat template does not write")
    }))

  it.effect("for another role, images and calls that are not JSON", () =>
    Effect.gen(function*() {
      const renderer = yield* JinjaRenderer.fromChatTemplate(Templates.of("hermes"))
      assert.include(yield* fail(renderer.generationPrompt(question, { role: "user" })), "the next role is \"user\"")
      const image: Message.Message = {
        role: "user",
        content: [{ type: "image", data: new Uint8Array(), format: "png" }]
      }
      assert.include(yield* fail(renderer.generationPrompt([image])), "a part of type \"image\"")
      const broken = { ...call, toolCalls: [{ function: { name: "get", arguments: "{" } }] }
      assert.include(
        yield* fail(renderer.generationPrompt([broken])),
        "arguments of the tool call \"get\" are not JSON"
      )
    }))
})
