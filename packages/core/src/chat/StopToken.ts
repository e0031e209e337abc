/** The special token that ends a turn. */
import * as Effect from "effect/Effect"
import { RendererError, type Termination } from "./Renderer.ts"
import type { Tokenizer } from "./Tokenizer.ts"

/** The id of a special token the renderer cannot do without. */
export const find = (
  renderer: string,
  tokenizer: Tokenizer,
  special: string
): Effect.Effect<number, RendererError> => {
  const id = tokenizer.specialToken(special)
  if (id !== undefined) return Effect.succeed(id)
  const detail = `the tokenizer has no special token ${special}; choose the renderer that fits the model`
  return Effect.fail(new RendererError({ renderer, detail }))
}

/** A response's text before its stop; all of it when the stop is missing. */
export interface Response {
  readonly text: string
  readonly termination: Termination
}

/** Cuts a response at its stop; two stops are an error, because sampling ends at the first. */
export const split = (
  renderer: string,
  tokenizer: Tokenizer,
  stop: number,
  tokens: Int32Array
): Effect.Effect<Response, RendererError> => {
  const at = tokens.indexOf(stop)
  if (at === -1) return Effect.succeed({ text: tokenizer.decode(tokens), termination: "malformed" })
  if (tokens.indexOf(stop, at + 1) === -1) {
    return Effect.succeed({ text: tokenizer.decode(tokens.subarray(0, at)), termination: "stop_sequence" })
  }
  const detail = `expected at most one stop token ${stop} in a response; was it sampled with this renderer's stop?`
  return Effect.fail(new RendererError({ renderer, detail }))
}
