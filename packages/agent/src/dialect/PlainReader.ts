/** Reads a plain-text continuation while it is sampled. */
import { Message } from "@effect-rl/core"
import { type Renderer, type ResponseStream, type Tokenizer, TokenText } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

const deltas = (text: string): ReadonlyArray<ResponseStream.Delta> =>
  text === "" ? [] : [{ _tag: "Text", part: 0, text }]

const withoutEnd = ({ eosTokenId }: Tokenizer.Tokenizer, tokens: ArrayLike<number>) =>
  Array.from(tokens).filter((token) => token !== eosTokenId)

const parsed = (text: string): Renderer.Parsed => ({ message: Message.assistant(text), termination: "eos" })

/** Parses a whole continuation. */
export const parse = (tokenizer: Tokenizer.Tokenizer, tokens: Int32Array): Renderer.Parsed =>
  parsed(tokenizer.decode(withoutEnd(tokenizer, tokens)))

/** Passes text on as it is sampled, without the model's end-of-text token. */
export const make = (tokenizer: Tokenizer.Tokenizer): ResponseStream.ResponseStream => {
  const text = TokenText.make(tokenizer)
  let said = ""
  const add = (more: string) => {
    said += more
    return deltas(more)
  }
  return {
    push: (tokens) => add(text.push(withoutEnd(tokenizer, tokens))),
    end: Effect.sync(() => ({ deltas: add(text.end()), parsed: parsed(said) }))
  }
}
