/** Trains a byte-level BPE tokenizer in Hugging Face's `tokenizer.json` format. */

/** Splits text as Qwen's tokenizers do, with separate digits. */
const split = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" +
  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/** The same pattern with its inline flag expanded. Each match is encoded separately. */
export const splitter = () =>
  new RegExp(split.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL]{2}|[dD])"), "gu")

export const specialTokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

/** The printable character of each byte in GPT-2's alphabet. */
const byteCharacters: ReadonlyArray<string> = (() => {
  const isPrintable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let shifted = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : shifted++))
})()

interface Word {
  pieces: ReadonlyArray<string>
  readonly count: number
}

const wordsOf = (texts: ReadonlyArray<readonly [text: string, count: number]>): Array<Word> => {
  const counts = new Map<string, number>()
  for (const [text, count] of texts) {
    for (const [match] of text.matchAll(splitter())) counts.set(match, (counts.get(match) ?? 0) + count)
  }
  return Array.from(counts, ([text, count]) => ({
    pieces: Array.from(new TextEncoder().encode(text), (byte) => byteCharacters[byte] ?? ""),
    count
  }))
}

type Pair = readonly [left: string, right: string]

/** The most frequent pair; the first in alphabetical order among equals. */
const mostFrequentPair = (words: ReadonlyArray<Word>): Pair | undefined => {
  const counts = new Map<string, number>()
  for (const { count, pieces } of words) {
    for (let i = 0; i + 1 < pieces.length; i++) {
      const key = `${pieces[i]} ${pieces[i + 1]}`
      counts.set(key, (counts.get(key) ?? 0) + count)
    }
  }
  const [best] = Array.from(counts).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const [left, right] = best?.[0].split(" ") ?? []
  return left === undefined || right === undefined ? undefined : [left, right]
}

const merge = ([left, right]: Pair, pieces: ReadonlyArray<string>): ReadonlyArray<string> => {
  const merged: Array<string> = []
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i] ?? ""
    if (piece === left && pieces[i + 1] === right) {
      merged.push(left + right)
      i++
    } else merged.push(piece)
  }
  return merged
}

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false }

/** Trains a tokenizer with at most `size` tokens, including special tokens, from counted texts. */
export const train = (texts: ReadonlyArray<readonly [text: string, count: number]>, size: number) => {
  const words = wordsOf(texts)
  const tokens = [...byteCharacters].sort()
  const merges: Array<string> = []
  while (tokens.length + specialTokens.length < size) {
    const pair = mostFrequentPair(words)
    if (pair === undefined) break
    merges.push(pair.join(" "))
    tokens.push(pair.join(""))
    for (const word of words) word.pieces = merge(pair, word.pieces)
  }
  const special = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, index) => ({ id: tokens.length + index, content, ...special })),
    normalizer: { type: "NFC" },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: split }, behavior: "Isolated", invert: false },
        byteLevel
      ]
    },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: "",
      end_of_word_suffix: "",
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges
    }
  }
}

export const config = (contextLength: number) => ({
  tokenizer_class: "Qwen2Tokenizer",
  eos_token: "<|im_end|>",
  pad_token: "<|endoftext|>",
  clean_up_tokenization_spaces: false,
  model_max_length: contextLength,
  chat_template: "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + " +
    "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
})
