/** Supervised examples with a Jinja chat template: the trained part of an assistant message is the text from its prompt to its stop. */
import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import type * as Message from "../../chat/Message.ts"
import { RendererError, type SupervisedExample, type TrainOnWhat } from "../../chat/Renderer.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Supervision from "../Supervision.ts"
import type { Measured } from "./Probe.ts"
import * as Writer from "./Writer.ts"

type Messages = ReadonlyArray<Message.Message>

const refuse = (renderer: string, detail: string) => new RendererError({ renderer, detail })

const trainedIndices = Effect.fnUntraced(function*(renderer: string, messages: Messages, trainOnWhat: TrainOnWhat) {
  yield* Supervision.checkTrainable(renderer, messages, trainOnWhat)
  if (trainOnWhat === "all_messages" || trainOnWhat === "all_user_and_system_messages") {
    const detail = `"${trainOnWhat}" needs the beginnings of users' messages, which a chat template does not tell;`
      + " train on assistant messages, or on all_tokens"
    return yield* refuse(renderer, detail)
  }
  const start = messages.slice(0, -1).findLastIndex((message) => message.role === "user") + 1
  const indices = messages.flatMap((_, index) =>
    Supervision.isTrained(messages, index, start, trainOnWhat) ? [index] : []
  )
  const other = indices.find((index) => messages[index]?.role !== "assistant")
  if (trainOnWhat !== "all_tokens" && other !== undefined) {
    const detail = `message ${other} of role "${messages[other]?.role}" is trainable, expected only assistant messages:`
      + " a chat template does not tell where others begin"
    return yield* refuse(renderer, detail)
  }
  return trainOnWhat === "all_tokens" ? "all" : indices
})

/** A conversation's text, and the prompts after which its trained responses were sampled. */
interface Cut {
  readonly text: string
  readonly prompts: ReadonlyArray<string>
}

const cutText = Effect.fnUntraced(function*(
  renderer: string,
  writer: Writer.Writer,
  count: number,
  indices: ReadonlyArray<number>
) {
  const text = yield* writer.whole(count)
  const prompts = yield* Effect.forEach(indices, writer.prompt)
  const strayed = prompts.findIndex((prompt) => !text.startsWith(prompt))
  if (strayed === -1) return { text, prompts } satisfies Cut
  const detail = `message ${indices[strayed]} is not written after the prompt it is sampled from, so its part cannot be`
    + " told from the rest; train it as the last message, with its reasoning where the prompt asks for it"
  return yield* refuse(renderer, detail)
})

interface Tokens {
  readonly tokens: Int32Array
  /** The start of each trained message. */
  readonly starts: ReadonlyArray<number>
}

const startsWith = (tokens: Int32Array, prefix: Int32Array) =>
  prefix.length <= tokens.length && prefix.every((token, index) => token === tokens[index])

/** Tokenizes the text as a whole. If a token would span a prompt and its response, the text is split there, as in sampling. */
const tokenize = (writer: Writer.Writer, { prompts, text }: Cut): Tokens => {
  const tokens = writer.encode(text)
  const before = prompts.map(writer.encode)
  if (before.every((prompt) => startsWith(tokens, prompt))) {
    return { tokens, starts: before.map((prompt) => prompt.length) }
  }
  const ends = [0, ...prompts.map((prompt) => prompt.length), text.length]
  const pieces = ends.slice(1).map((end, index) => writer.encode(text.slice(ends[index], end)))
  return {
    tokens: Int32Array.from(pieces.flatMap((piece) => [...piece])),
    starts: prompts.map((_, index) => pieces.slice(0, index + 1).reduce((sum, piece) => sum + piece.length, 0))
  }
}

const weigh = ({ starts, tokens }: Tokens, stops: ReadonlySet<number>): Float32Array => {
  const weights = new Float32Array(tokens.length)
  for (const start of starts) {
    const end = tokens.findIndex((token, index) => index >= start && stops.has(token))
    weights.fill(1, start, end === -1 ? tokens.length : end + 1)
  }
  return weights
}

/** A template and its measured properties. */
export interface Known {
  readonly source: Writer.Source
  readonly measured: Measured
  readonly stops: ReadonlyArray<number>
}

export const example = Effect.fnUntraced(function*(
  { source, stops }: Known,
  messages: Messages,
  trainOnWhat: TrainOnWhat
): Effect.fn.Return<SupervisedExample, RendererError> {
  const trained = yield* trainedIndices(source.renderer, messages, trainOnWhat)
  const writer = yield* Writer.make(source, messages)
  const cut = yield* cutText(source.renderer, writer, messages.length, trained === "all" ? [] : trained)
  const tokens = tokenize(writer, cut)
  const weights = trained === "all" ? new Float32Array(tokens.tokens.length).fill(1) : weigh(tokens, new Set(stops))
  return { input: ModelInput.fromTokens(tokens.tokens), weights }
})

const perMessage = (known: Known, messages: Messages, indices: ReadonlyArray<number>) =>
  Effect.forEach(indices, (index) =>
    example(
      known,
      messages.slice(0, index + 1).map(Struct.omit(["trainable"])),
      "last_assistant_message"
    ))

/**
 * Makes one example if each trained message is written after its prompt, otherwise one per trained message. With `all_tokens` or the
 * extension property, it makes one example or fails.
 */
export const examples = Effect.fnUntraced(function*(
  known: Known,
  messages: Messages,
  trainOnWhat: TrainOnWhat
): Effect.fn.Return<ReadonlyArray<SupervisedExample>, RendererError> {
  const trained = yield* trainedIndices(known.source.renderer, messages, trainOnWhat)
  const whole = Effect.map(example(known, messages, trainOnWhat), (one) => [one])
  return yield* trained === "all" || known.measured.hasExtensionProperty
    ? whole
    : Effect.catch(whole, () => perMessage(known, messages, trained))
})
