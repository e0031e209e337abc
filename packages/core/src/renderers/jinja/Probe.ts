/** Measures the properties of a chat template with test conversations. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Message from "../../chat/Message.ts"
import { RendererError } from "../../chat/Renderer.ts"
import * as ContentBlocks from "../ContentBlocks.ts"
import * as CallConvention from "./CallConvention.ts"
import * as MarkedText from "./MarkedText.ts"
import * as Conversation from "./TemplateConversation.ts"
import * as Writer from "./Writer.ts"

/** The measured properties of a template, and its limits. */
export interface Measured {
  /** The texts that end an assistant turn. */
  readonly stops: ReadonlyArray<string>
  readonly calls: CallConvention.CallConvention
  readonly thinking: CallConvention.Thinking
  readonly thinkingForm: Conversation.ThinkingForm
  /** Whether each later prompt of the probes starts with the earlier prompt and response. */
  readonly hasExtensionProperty: boolean
  /** What does not work with the template, such as the probes that failed; one description each. */
  readonly limits: ReadonlyArray<string>
}

type Messages = ReadonlyArray<Message.Message>

const answer = "The answer is 42."

const plain: Messages = [
  Message.user("What is six times seven?"),
  Message.assistant(answer),
  Message.user("And six times eight?"),
  Message.assistant("48."),
  Message.user("Thanks.")
]

const reasoned: Messages = plain.map((message) =>
  message.role === "assistant"
    ? {
      role: "assistant",
      content: [{ type: "thinking", thinking: "Multiply." }, { type: "text", text: Message.text(message) }]
    }
    : message
)

/** A conversation with a tool call. The call's id has nine letters and digits because some templates require this. */
const called: Messages = [
  Message.user("What is the weather in Rome?"),
  {
    role: "assistant",
    content: "",
    toolCalls: [{ id: "abcdefgh1", function: { name: "weather", arguments: "{\"city\": \"Rome\"}" } }]
  },
  { role: "tool", name: "weather", toolCallId: "abcdefgh1", content: "Sunny." },
  Message.assistant("It is sunny."),
  Message.user("Thanks.")
]

/** The special token that follows an assistant's answer, after white space at most; undefined if other text follows. */
const stopBehind = Effect.fnUntraced(function*(source: Writer.Source) {
  const { renderer, tokenizer } = source
  const writer = yield* Writer.make(source, plain)
  const text = yield* writer.whole(2)
  const at = text.lastIndexOf(answer)
  if (at === -1) {
    const detail = `the chat template does not write an assistant's text ${JSON.stringify(answer)} as it is`
    return yield* new RendererError({ renderer, detail })
  }
  const rest = text.slice(at + answer.length).trimStart()
  return MarkedText.specialsIn(tokenizer, rest).find((token) => rest.startsWith(token))
})

/**
 * The prompt of message `index`, and the text from there to the message's stop, if that message ends the conversation; `undefined` if the
 * conversation does not start with the prompt or has no stop after it.
 */
const response = Effect.fnUntraced(
  function*(writer: Writer.Writer, index: number, stops: ReadonlyArray<string>) {
    const prompt = yield* writer.prompt(index)
    const text = yield* writer.whole(index + 1)
    if (!text.startsWith(prompt)) return undefined
    const ends = stops.flatMap((stop) => {
      const at = text.indexOf(stop, prompt.length)
      return at === -1 ? [] : [at + stop.length]
    })
    return ends.length === 0 ? undefined : { prompt, text: text.slice(prompt.length, Math.min(...ends)) }
  }
)

const startsWith = (tokens: Int32Array, prefix: Int32Array) =>
  prefix.length <= tokens.length && prefix.every((token, index) => token === tokens[index])

/** Why the last prompt of the conversation does not extend an earlier prompt and its response; `undefined` if it extends all. */
const brokenExtension = Effect.fnUntraced(function*(
  source: Writer.Source,
  stops: ReadonlyArray<string>,
  messages: Messages
) {
  const writer = yield* Writer.make(source, messages)
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue
    const said = yield* response(writer, index, stops)
    if (said === undefined) return "an assistant's message does not follow its prompt"
    const before = [...writer.encode(said.prompt), ...writer.encode(said.text)]
    const isExtended = (later: string) => startsWith(writer.encode(later), Int32Array.from(before))
    if (!isExtended(yield* writer.prompt(messages.length))) return "later prompts leave out or change earlier responses"
  }
  return undefined
})

const probes: ReadonlyArray<readonly [name: string, messages: Messages]> = [
  ["conversations of text", plain],
  ["conversations with reasoning", reasoned],
  ["conversations with tool calls", called]
]

/** The result of a probe; if the conversation cannot be written, prompts are not compared. */
const probe = (source: Writer.Source, stops: ReadonlyArray<string>) =>
  Effect.forEach(
    probes,
    ([name, messages]) =>
      Effect.map(Effect.result(brokenExtension(source, stops, messages)), (result) => ({
        name,
        isBroken: Result.isSuccess(result) && result.success !== undefined,
        problem: Result.isFailure(result) ? result.failure.detail : result.success
      }))
  )

/** Whether the text of a user message can end its turn and start an answer, because turns are separated only by ordinary text. */
const isForgeable = Effect.fnUntraced(function*(source: Writer.Source) {
  const writer = yield* Writer.make(source, plain)
  const [question = "", reply = ""] = plain.map(Message.text)
  const text = yield* writer.whole(2)
  const start = text.indexOf(question) + question.length
  return MarkedText.specialsIn(source.tokenizer, text.slice(start, text.indexOf(reply, start))).length === 0
})

const opensThinking = Effect.fnUntraced(function*(source: Writer.Source) {
  const writer = yield* Writer.make(source, plain)
  return (yield* writer.prompt(1)).trimEnd().endsWith(ContentBlocks.openThinking)
})

/** Probes the template. Fails if it cannot write two text messages, or if no token ends an answer. */
export const measure = Effect.fnUntraced(function*(
  source: Writer.Source
): Effect.fn.Return<Measured, RendererError> {
  const { renderer, template, tokenizer } = source
  const written = yield* stopBehind(source)
  const eos = tokenizer.eosTokenId === undefined ? [] : [tokenizer.decode([tokenizer.eosTokenId])]
  const stops = Array.from(new Set([...(written === undefined ? [] : [written]), ...eos]))
  if (stops.length === 0) {
    const detail = "the chat template ends an answer with no special token, and the tokenizer has no end of text"
    return yield* new RendererError({ renderer, detail })
  }
  const calls = CallConvention.of(template.source)
  const thinkingForm = Conversation.thinkingForm(template)
  const found = yield* probe(source, stops)
  return {
    stops,
    calls,
    thinking: { isOpen: yield* opensThinking(source), isFramed: thinkingForm !== "text" },
    thinkingForm,
    hasExtensionProperty: !found.some(({ isBroken }) => isBroken),
    limits: [
      ...found.flatMap(({ name, problem }) => problem === undefined ? [] : [`${name}: ${problem}`]),
      ...(calls.name === "none" ? ["tool calls: the template shows no known form, so a call is read as text"] : []),
      ...((yield* isForgeable(source))
        ? ["messages: their ends are ordinary text, so a message with that text forges a turn"]
        : []),
      "training: only assistant messages can be told from what surrounds them",
      "images: not written"
    ]
  }
})
