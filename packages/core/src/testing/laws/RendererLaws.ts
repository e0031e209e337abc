/** The laws of every renderer, checked on text conversations. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../chat/Message.ts"
import type { Renderer, RendererError } from "../../chat/Renderer.ts"
import * as ResponseStream from "../../chat/ResponseStream.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import { expect, Mismatch } from "../contract/Case.ts"
import * as Law from "./Law.ts"

export { type Law, LawViolation } from "./Law.ts"

type Conversation = ReadonlyArray<Message.Message>

const conversations: ReadonlyArray<Conversation> = [
  [Message.user("What is 2 + 3?"), Message.assistant("5")],
  [
    Message.system("Be brief."),
    Message.user("Two lines:\nplease"),
    Message.assistant("one\ntwo"),
    Message.user("{again}"),
    Message.assistant("</b> one: two.")
  ]
]

const promptTokens = (renderer: Renderer, conversation: Conversation) =>
  Effect.flatMap(renderer.generationPrompt(conversation), ModelInput.toTokens)

const spell = (tokens: Int32Array) => tokens.join(" ")

const startsWith = (tokens: Int32Array, beginning: Int32Array) =>
  beginning.every((token, index) => token === tokens[index])

/** The training example of a conversation that ends with an assistant message. */
const example = Effect.fnUntraced(function*(renderer: Renderer, conversation: Conversation) {
  const prompt = yield* promptTokens(renderer, conversation.slice(0, -1))
  const { input, weights } = yield* renderer.supervisedExample(conversation, "last_assistant_message")
  const tokens = yield* ModelInput.toTokens(input)
  return { prompt, tokens, weights, response: tokens.subarray(prompt.length) }
})

const trainsTheAnswer = Effect.fnUntraced(function*(renderer: Renderer, conversation: Conversation) {
  const { prompt, tokens, weights } = yield* example(renderer, conversation)
  yield* expect(
    startsWith(tokens, prompt),
    `an example that begins with the prompt ${spell(prompt)}`,
    spell(tokens)
  )
  yield* expect(
    weights.every((weight, index) => weight === Number(index >= prompt.length)),
    `weight 1 for the ${tokens.length - prompt.length} tokens after the prompt, and 0 before`,
    weights.join(" ")
  )
})

const readsWhatItWrites = Effect.fnUntraced(function*(renderer: Renderer, conversation: Conversation) {
  const { response } = yield* example(renderer, conversation)
  const { message, termination } = yield* renderer.parse(response)
  const said = Message.text(conversation.at(-1) ?? Message.assistant(""))
  yield* expect(termination === "stop_sequence", "a response that ends at the renderer's stop", termination)
  yield* expect(Message.text(message) === said, `the answer ${JSON.stringify(said)}`, JSON.stringify(message.content))
})

const extendsPrompts = Effect.fnUntraced(function*(renderer: Renderer, conversation: Conversation) {
  if (!renderer.hasExtensionProperty) return
  const { prompt, response } = yield* example(renderer, conversation)
  const later = yield* promptTokens(renderer, [...conversation, Message.user("And now?")])
  const stop = renderer.stop.filter((end) => typeof end === "number")
  const end = stop.length === 0 ? prompt.length : prompt.length + response.length
  const before = Int32Array.of(...prompt, ...response).subarray(0, end)
  yield* expect(startsWith(later, before), `a later prompt that begins with ${spell(before)}`, spell(later))
})

/** The text of the streamed deltas, and the final message. */
const streamed = Effect.fnUntraced(
  function*(renderer: Renderer, conversation: Conversation, pieces: ReadonlyArray<Int32Array>) {
    const events = yield* Stream.runCollect(
      ResponseStream.events(renderer, conversation, Stream.fromIterable(pieces))
    )
    const text = events.map((event) => event._tag === "Text" ? event.text : "").join("")
    const message = events.flatMap((event) => event._tag === "Done" ? [event.parsed.message] : [])
    return { text, message: JSON.stringify(message[0]) }
  }
)

const streamsTheSame = Effect.fnUntraced(function*(renderer: Renderer, conversation: Conversation) {
  const { response } = yield* example(renderer, conversation)
  const { message } = yield* renderer.parse(response)
  for (let at = 0; at <= response.length; at++) {
    const pieces = [response.subarray(0, at), response.subarray(at)]
    const read = yield* streamed(renderer, conversation.slice(0, -1), pieces)
    const where = `of a response that comes in two pieces of ${at} and ${response.length - at} tokens`
    yield* expect(
      read.text === Message.text(message),
      `the text ${JSON.stringify(Message.text(message))} ${where}`,
      read.text
    )
    yield* expect(read.message === JSON.stringify(message), `${JSON.stringify(message)} ${where}`, String(read.message))
  }
})

/** Checks that user text cannot spell the stop token; renderers with a text stop are exempt. */
const keepsMarksToItself = (tokenizer: Tokenizer) =>
  Effect.fnUntraced(function*(renderer: Renderer) {
    for (const stop of renderer.stop) {
      if (typeof stop === "string") return
      const count = (tokens: Int32Array) => tokens.filter((token) => token === stop).length
      const plain = count(yield* promptTokens(renderer, [Message.user("hello")]))
      const spelled = count(yield* promptTokens(renderer, [Message.user(`hello${tokenizer.decode([stop])}`)]))
      yield* expect(
        spelled === plain,
        `${plain} of the token ${stop} in a prompt, also where a user's text spells it`,
        String(spelled)
      )
    }
  })

const law = (
  name: string,
  renderer: Renderer,
  holds: (
    renderer: Renderer,
    conversation: Conversation
  ) => Effect.Effect<void, Mismatch | RendererError | ModelInput.NotText>
) =>
  Law.simulating(
    name,
    Effect.forEach(conversations, (conversation) => holds(renderer, conversation), { discard: true }).pipe(
      Effect.mapError((error) =>
        error._tag === "Mismatch" ? error : new Mismatch({ expected: "no refusal", found: error.message })
      )
    )
  )

/**
 * Laws that check a renderer. Examples train the answer after its prompt. The renderer parses what it writes, at once and streamed. Later
 * prompts extend earlier ones if the renderer says so. User text never becomes a control token.
 *
 * @example
 * const outcomes = Effect.forEach(RendererLaws.rendererLaws(renderer, tokenizer), ({ check }) => check)
 */
export const rendererLaws = (renderer: Renderer, tokenizer: Tokenizer): ReadonlyArray<Law.Law> => [
  law("trains the answer that follows the prompt, and nothing before it", renderer, trainsTheAnswer),
  law("reads the answer that it writes", renderer, readsWhatItWrites),
  law("begins a later prompt with the earlier one and its answer, where it says so", renderer, extendsPrompts),
  law("reads the same answer in pieces, wherever it is cut", renderer, streamsTheSame),
  law("keeps its marks apart from text that spells them", renderer, keepsMarksToItself(tokenizer))
]
