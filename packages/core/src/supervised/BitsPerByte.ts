/**
 * Bits per byte: the negative log-likelihood of the target tokens in bits, per UTF-8 byte of their text. Unlike the likelihood per token,
 * it is comparable across tokenizers.
 *
 * @example
 * const { bits_per_byte } = BitsPerByte.mean(BitsPerByte.sums(weightedData, logprobs, model.tokenizer))
 */
import * as Tokenizer from "../chat/Tokenizer.ts"
import * as TokenText from "../chat/TokenText.ts"
import type * as Datum from "../model/Datum.ts"

/** Sums over the counted tokens: −logprob in nats, and the number of bytes of their text. */
export interface Sums {
  readonly nats: number
  readonly bytes: number
}

/** Makes a test for special tokens, such as `<|im_end|>`. */
const added = (tokenizer: Tokenizer.Tokenizer) => {
  const known = new Map<number, boolean>()
  return (token: number): boolean => {
    const before = known.get(token)
    if (before !== undefined) return before
    const isAdded = Tokenizer.isSpecial(tokenizer, token)
    known.set(token, isAdded)
    return isAdded
  }
}

/**
 * Counts tokens with a positive weight, whatever its size, except special tokens: these have no text, and templates use different numbers
 * of them. Each run of consecutive counted tokens is decoded separately. `logprobsDT` are the target tokens' log-probabilities, `[T]` per
 * datum.
 */
export const sums = (
  data: ReadonlyArray<Datum.Datum<"WeightedTokens">>,
  logprobsDT: ReadonlyArray<Float32Array>,
  tokenizer: Tokenizer.Tokenizer
): Sums => {
  const isAdded = added(tokenizer)
  let nats = 0
  let bytes = 0
  let run: Array<number> = []
  const endRun = () => {
    if (run.length > 0) bytes += TokenText.byteLength(tokenizer.decode(run))
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
 * Bits per byte; absent if the counted tokens have no text.
 *
 * @see tinker-cookbook `compute_bpb`
 */
export const mean = ({ bytes, nats }: Sums): { readonly bits_per_byte?: number } =>
  bytes === 0 ? {} : { bits_per_byte: nats / (Math.LN2 * bytes) }
