/** A stop that lies across two requests of a turn, so that neither of them sees all of it. */
import type { Tokenizer } from "../chat/Tokenizer.ts"
import type * as Sampling from "../model/Sampling.ts"

/** Most tokens of a character of a text: one for each byte. */
const tokensPerCharacter = 3

/** A sequence up to a stop that began in the tokens `before` it, which its request could not know. */
export const cut = (
  before: Int32Array,
  sequence: Sampling.SampledTokens,
  stop: Sampling.Stop,
  { decode }: Pick<Tokenizer, "decode">
): Sampling.SampledTokens => {
  const texts = Array.from<string | number>(stop).filter((end) => typeof end === "string")
  if (before.length === 0 || texts.length === 0) return sequence
  const longest = tokensPerCharacter * Math.max(...texts.map(({ length }) => length))
  const tail = before.subarray(-longest)
  for (let length = 1; length <= Math.min(longest, sequence.tokens.length); length++) {
    const text = decode([...tail, ...sequence.tokens.subarray(0, length)])
    if (texts.some((end) => text.includes(end))) {
      const [tokens, logprobs] = [sequence.tokens.slice(0, length), sequence.logprobs.slice(0, length)]
      return { ...sequence, tokens, logprobs, stopReason: "stop" }
    }
  }
  return sequence
}
