/**
 * Bits per byte: the negative log-likelihood of target tokens in bits, per byte of their text in UTF-8. It compares models whatever their
 * tokenizers, which the likelihood per token does not.
 *
 * @example
 * const { bits_per_byte } = BitsPerByte.mean(BitsPerByte.sums(weightedData, logprobs, model.tokenizer))
 */
import type { Tokenizer } from "../chat/Tokenizer.ts"
import type * as Datum from "../model/Datum.ts"

/** Sums over the counted tokens of datums: −logprob in nats, and the bytes of their text. */
export interface Sums {
  readonly nats: number
  readonly bytes: number
}

/** Whether a token is one that the tokenizer adds to its vocabulary, such as `<|im_end|>`. */
const added = (tokenizer: Tokenizer) => {
  const known = new Map<number, boolean>()
  return (token: number): boolean => {
    const before = known.get(token)
    if (before !== undefined) return before
    const isAdded = tokenizer.specialToken(tokenizer.decode([token])) === token
    known.set(token, isAdded)
    return isAdded
  }
}

/** The bytes of a text in UTF-8. */
const bytesOf = (text: string): number => {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}

/**
 * Counts the tokens with a positive weight, however large, that are no special tokens: those have no text of their own, and templates
 * differ in how many there are. Each run of counted tokens is decoded by itself. `logprobsDT` are the target tokens' log-probabilities,
 * `[T]` per datum.
 */
export const sums = (
  data: ReadonlyArray<Datum.Datum<"WeightedTokens">>,
  logprobsDT: ReadonlyArray<Float32Array>,
  tokenizer: Tokenizer
): Sums => {
  const isAdded = added(tokenizer)
  let nats = 0
  let bytes = 0
  let run: Array<number> = []
  const endRun = () => {
    if (run.length > 0) bytes += bytesOf(tokenizer.decode(run))
    run = []
  }
  for (const [d, { inputs: { targetTokens, weights } }] of data.entries()) {
    for (const [t, token] of targetTokens.entries()) {
      if ((weights[t] ?? 0) > 0 && !isAdded(token)) {
        nats -= logprobsDT[d]?.[t] ?? NaN
        run.push(token)
      } else endRun()
    }
    endRun()
  }
  return { nats, bytes }
}

/**
 * Bits per byte; absent where no token that counts has a text.
 *
 * @see tinker-cookbook `compute_bpb`
 */
export const mean = ({ bytes, nats }: Sums): { readonly bits_per_byte?: number } =>
  bytes === 0 ? {} : { bits_per_byte: nats / (Math.LN2 * bytes) }
