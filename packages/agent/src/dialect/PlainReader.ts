/** Reads a plain-text continuation while it is sampled. */
import { Message } from "@effect-rl/core"
import { type ResponseStream, type Tokenizer, TokenText } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

const deltas = (text: string): ReadonlyArray<ResponseStream.Delta> =>
  text === "" ? [] : [{ _tag: "Text", part: 0, text }]

/** Passes text on as it is sampled, without the model's end-of-text token. */
export const make = (tokenizer: Tokenizer.Tokenizer): ResponseStream.ResponseStream => {
  const text = TokenText.make(tokenizer)
  let said = ""
  const add = (more: string) => {
    said += more
    return deltas(more)
  }
  return {
    push: (tokens) => add(text.push(Array.from(tokens).filter((token) => token !== tokenizer.eosTokenId))),
    end: Effect.sync(() => ({
      deltas: add(text.end()),
      parsed: { message: Message.assistant(said), termination: "eos" }
    }))
  }
}
