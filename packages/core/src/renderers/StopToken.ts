/** The special token that ends a turn. */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import { type Parsed, RendererError, type Termination } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as ContentBlocks from "./ContentBlocks.ts"
import type * as Markup from "./Markup.ts"

/** A response's text before its stop, or all of it where the stop is missing. */
export interface Response {
  readonly text: string
  readonly termination: Termination
}

/** A response's text before the first of several stops, and that stop; `undefined` where there is none. */
export interface Cut {
  readonly text: string
  readonly stop: number | undefined
}

/** Cuts a response at its stop; two stops are an error, because sampling ends at the first. */
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

/** As `splitAtAny`, for the one stop of a family. */
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

/** Reads a response up to its stop; a response without a stop is read as plain text. */
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

/** The response with the opening of its thinking block, with which its prompt ended, where it closes one without it. */
export const restoreOpening = (tokens: Int32Array, encoder: Markup.Encoder): Int32Array => {
  const open = encoder.id(ContentBlocks.openThinking)
  const needsOpening = tokens.length > 0 && tokens[0] !== open
  return needsOpening && tokens.includes(encoder.id(ContentBlocks.closeThinking))
    ? Int32Array.of(open, ...tokens)
    : tokens
}
