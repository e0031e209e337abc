/** The special token that ends a turn. */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import { type Parsed, RendererError, type Termination } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as ContentBlocks from "./ContentBlocks.ts"
import type * as Markup from "./Markup.ts"

/** A response's text before its stop; the whole text if the stop is missing. */
export interface Response {
  readonly text: string
  readonly termination: Termination
}

/** A response's text before the first of several stops, and that stop; `undefined` if there is none. */
export interface Cut {
  readonly text: string
  readonly stop: number | undefined
}

/** Cuts a response at its stop. Two stops are an error, because sampling ends at the first. */
export const splitAtAny = (
  renderer: string,
  tokenizer: Tokenizer,
  stops: ReadonlyArray<number>,
  tokens: Int32Array
): Effect.Effect<Cut, RendererError> => {
  const at = tokens.findIndex((token) => stops.includes(token))
  if (at === -1) return Effect.succeed({ text: tokenizer.decode(tokens), stop: undefined })
  if (!tokens.subarray(at + 1).some((token) => stops.includes(token))) {
    return Effect.succeed({ text: tokenizer.decode(tokens.subarray(0, at)), stop: tokens[at] })
  }
  const detail = `expected at most one stop token, of ${stops.join(", ")}, in a response; was it sampled with this`
    + " renderer's stop?"
  return Effect.fail(new RendererError({ renderer, detail }))
}

/** Like `splitAtAny`, for families with a single stop. */
export const split = (
  renderer: string,
  tokenizer: Tokenizer,
  stop: number,
  tokens: Int32Array
): Effect.Effect<Response, RendererError> =>
  Effect.map(splitAtAny(renderer, tokenizer, [stop], tokens), (cut) => ({
    text: cut.text,
    termination: cut.stop === undefined ? "malformed" : "stop_sequence"
  }))

/** Parses the text before the stop; a response without a stop becomes plain text. */
export const parse = (
  renderer: string,
  tokenizer: Tokenizer,
  stop: number,
  read: (text: string) => Message.Message
) =>
(tokens: Int32Array): Effect.Effect<Parsed, RendererError> =>
  Effect.map(split(renderer, tokenizer, stop, tokens), ({ termination, text }) => ({
    message: termination === "malformed" ? Message.assistant(text) : read(text),
    termination
  }))

/** Prepends the opening thinking tag, which the prompt already contains, if the response closes a block that it did not open. */
export const restoreOpening = (tokens: Int32Array, encoder: Markup.Encoder): Int32Array => {
  const open = encoder.id(ContentBlocks.openThinking)
  const needsOpening = tokens.length > 0 && tokens[0] !== open
  return needsOpening && tokens.includes(encoder.id(ContentBlocks.closeThinking))
    ? Int32Array.of(open, ...tokens)
    : tokens
}
