/** Supervised examples: selects the trained tokens of a conversation. */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import { RendererError, type SupervisedExample, type TrainOnWhat } from "../chat/Renderer.ts"
import * as ChatTemplate from "./ChatTemplate.ts"

type Messages = ReadonlyArray<Message.Message>

/** Whether the output of a message is trained. The example's last turn starts at index `start`. */
export const isTrained = (messages: Messages, index: number, start: number, trainOnWhat: TrainOnWhat): boolean => {
  const message = messages[index]
  switch (trainOnWhat) {
    case "last_assistant_message":
      return index === messages.length - 1 && message?.role === "assistant"
    case "last_assistant_turn":
      return message?.role === "assistant" && index >= start
    case "all_assistant_messages":
      return message?.role === "assistant"
    case "all_messages":
    case "all_tokens":
      return true
    case "all_user_and_system_messages":
      return message?.role === "user" || message?.role === "system"
    case "customized":
      return message?.trainable === true
  }
}

/** Index of the message whose generation prompt must have weight 0; undefined in modes that train more than the last answer or turn. */
const boundary = (messages: Messages, trainOnWhat: TrainOnWhat): number | undefined => {
  const index = trainOnWhat === "last_assistant_message"
    ? messages.length - 1
    : trainOnWhat === "last_assistant_turn"
    ? Message.lastUserIndex(messages) + 1
    : -1
  return messages[index]?.role === "assistant" ? index : undefined
}

/** Fails unless every message has `trainable` in the mode `customized`, and none has it in other modes. */
export const checkTrainable = (
  renderer: string,
  messages: Messages,
  trainOnWhat: TrainOnWhat
): Effect.Effect<void, RendererError> => {
  const wanted = trainOnWhat === "customized"
  const index = messages.findIndex((message) => (message.trainable !== undefined) !== wanted)
  if (index === -1) return Effect.void
  const detail = wanted
    ? `message ${index} has no "trainable"; "customized" needs it on every message`
    : `message ${index} has "trainable", which only "customized" reads, not "${trainOnWhat}"`
  return Effect.fail(new RendererError({ renderer, detail }))
}

interface Weighted {
  readonly piece: ChatTemplate.Piece
  readonly weight: number
}

const weigh = Effect.fnUntraced(function*(
  template: ChatTemplate.ChatTemplate,
  messages: Messages,
  trainOnWhat: TrainOnWhat
) {
  const start = ChatTemplate.turnStart(template, messages.slice(0, -1))
  const rendered = yield* ChatTemplate.renderAll(template, messages, start)
  const weighted: Array<Weighted> = [{ piece: template.beginning, weight: 0 }]
  for (const [index, { header, output, stopOverlap }] of rendered.entries()) {
    const weight = Number(isTrained(messages, index, start, trainOnWhat))
    weighted.push({ piece: header, weight: Number(trainOnWhat === "all_tokens") })
    for (const piece of output) weighted.push({ piece, weight })
    if (index === messages.length - 1 && stopOverlap !== undefined) weighted.push({ piece: stopOverlap, weight })
  }
  return weighted
})

const lengthOf = (piece: ChatTemplate.Piece) => piece instanceof Int32Array ? piece.length : piece.expectedTokens

/** The tokens of all pieces; `undefined` if one is an image. */
const tokensOf = (pieces: ReadonlyArray<ChatTemplate.Piece>): Int32Array | undefined => {
  const tokens = pieces.filter((piece) => piece instanceof Int32Array)
  return tokens.length < pieces.length ? undefined : Int32Array.from(tokens.flatMap((piece) => [...piece]))
}

const startsWith = (tokens: Int32Array, prefix: Int32Array) =>
  prefix.length <= tokens.length && prefix.every((token, index) => token === tokens[index])

/** Sets the weights of message `index`'s generation prompt to 0. Fails if the message reasons although its prompt disables thinking. */
const trainAfterPrompt = Effect.fnUntraced(function*(
  template: ChatTemplate.ChatTemplate,
  messages: Messages,
  tokens: Int32Array,
  weights: Float32Array,
  index: number
) {
  const prompt = tokensOf(yield* ChatTemplate.promptPieces(template, messages.slice(0, index), {}))
  if (prompt === undefined) return
  if (startsWith(tokens, prompt)) {
    weights.fill(0, 0, prompt.length)
  } else if (template.disablesThinking) {
    const detail = `message ${index} does not begin as its prompt does: thinking is off, but this turn reasons`
    return yield* new RendererError({ renderer: template.name, detail })
  }
})

/** Marks the messages that the template added as untrained. */
const markAdded = (prepared: Messages, trainOnWhat: TrainOnWhat): Messages =>
  trainOnWhat !== "customized"
    ? prepared
    : prepared.map((message) => message.trainable === undefined ? { ...message, trainable: false } : message)

/**
 * Renders the conversation as one example. The outputs of the selected messages have weight 1, and so do all headers with `all_tokens`. If
 * only the last answer or turn is trained, its generation prompt has weight 0.
 */
export const example = Effect.fnUntraced(function*(
  template: ChatTemplate.ChatTemplate,
  messages: Messages,
  trainOnWhat: TrainOnWhat
): Effect.fn.Return<SupervisedExample, RendererError> {
  yield* checkTrainable(template.name, messages, trainOnWhat)
  const prepared = markAdded(yield* ChatTemplate.prepare(template, messages), trainOnWhat)
  const weighted = yield* weigh(template, prepared, trainOnWhat)
  const pieces = weighted.map(({ piece }) => piece)
  const weights = Float32Array.from(
    weighted.flatMap(({ piece, weight }) => Array<number>(lengthOf(piece)).fill(weight))
  )
  const index = boundary(prepared, trainOnWhat)
  const tokens = tokensOf(pieces)
  if (index !== undefined && tokens !== undefined) {
    yield* trainAfterPrompt(template, prepared, tokens, weights, index)
  }
  return { input: ChatTemplate.toInput(pieces), weights }
})

const firstTrained = (template: ChatTemplate.ChatTemplate, messages: Messages, trainOnWhat: TrainOnWhat) => {
  if (trainOnWhat === "last_assistant_message") return messages.length - 1
  if (trainOnWhat === "last_assistant_turn") return ChatTemplate.turnStart(template, messages)
  return trainOnWhat === "all_assistant_messages" ? 0 : undefined
}

/** Makes one example per trained assistant message, each ending with that message. */
const perMessage = (template: ChatTemplate.ChatTemplate): ChatTemplate.Split => (messages, trainOnWhat) => {
  const first = firstTrained(template, messages, trainOnWhat)
  if (first === undefined) return undefined
  return messages.flatMap((message, index) =>
    index >= first && message.role === "assistant" ? [{ end: index + 1, trainOnWhat: "last_assistant_message" }] : []
  )
}

/**
 * Makes examples whose prompts equal those that the model was sampled with: one if the template has the extension property, otherwise one
 * per cut of the conversation. Fails for a mode that cannot be split.
 */
export const examples = Effect.fnUntraced(function*(
  template: ChatTemplate.ChatTemplate,
  messages: Messages,
  trainOnWhat: TrainOnWhat
): Effect.fn.Return<ReadonlyArray<SupervisedExample>, RendererError> {
  if (template.hasExtensionProperty) return [yield* example(template, messages, trainOnWhat)]
  const split = template.split ?? perMessage(template)
  const cuts = split(messages, trainOnWhat)
  if (cuts === undefined) {
    const detail = `"${trainOnWhat}" cannot be split into one example per assistant message; use supervisedExample`
    return yield* new RendererError({ renderer: template.name, detail })
  }
  return yield* Effect.forEach(cuts, (cut) => example(template, messages.slice(0, cut.end), cut.trainOnWhat))
})
