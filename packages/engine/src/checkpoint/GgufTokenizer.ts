/** The tokenizer that a GGUF file carries in its metadata, as the definition that Hugging Face tools would write. */
import { Tokenizer } from "@effect-rl/core/renderers"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type { Metadata } from "../numerics/GgufHeader.ts"

/** How text is cut before byte pairs are merged, in the terms of a `tokenizer.json`. */
interface PreTokenization {
  readonly preTokenizer: object
  readonly normalizer?: object
  readonly ignoreMerges?: boolean
  /** Whether the vocabulary lists the special tokens too, as these families write their own files. */
  readonly listsSpecialTokens?: boolean
}

const byteLevel = (useRegex: boolean) => ({
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex
})

const sequence = (...pretokenizers: ReadonlyArray<object>) => ({ type: "Sequence", pretokenizers })

const split = (regex: string) => ({ type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false })

/** Words, up to `digits` digits together, punctuation and line ends, as in Qwen2 and Llama 3. */
const words = (digits: string) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

const qwen2: PreTokenization = {
  normalizer: { type: "NFC" },
  preTokenizer: sequence(split(words("\\p{N}")), byteLevel(false))
}

/** By the name in `tokenizer.ggml.pre`. */
const preTokenizations: ReadonlyMap<string, PreTokenization> = new Map([
  ["gpt-2", { preTokenizer: byteLevel(true), listsSpecialTokens: true }],
  ["smollm", {
    preTokenizer: sequence({ type: "Digits", individual_digits: true }, byteLevel(true)),
    listsSpecialTokens: true
  }],
  ["qwen2", qwen2],
  ["deepseek-r1-qwen", qwen2],
  ["llama-bpe", { preTokenizer: sequence(split(words("\\p{N}{1,3}")), byteLevel(false)), ignoreMerges: true }]
])

/** Kinds of tokens in `tokenizer.ggml.token_type`. */
const [normal, control, userDefined] = [1, 3, 4]

const strings = (metadata: Metadata, key: string): ReadonlyArray<string> | undefined => {
  const value = metadata.get(key)
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined
}

const numbers = (metadata: Metadata, key: string): ReadonlyArray<number> | undefined => {
  const value = metadata.get(key)
  return Array.isArray(value) && value.every((item) => typeof item === "number") ? value : undefined
}

interface Vocabulary {
  readonly tokens: ReadonlyArray<string>
  readonly kinds: ReadonlyArray<number>
  readonly merges: ReadonlyArray<string>
}

const vocabularyOf = (metadata: Metadata): Vocabulary | string => {
  const tokens = strings(metadata, "tokenizer.ggml.tokens")
  const kinds = numbers(metadata, "tokenizer.ggml.token_type")
  const merges = strings(metadata, "tokenizer.ggml.merges")
  if (tokens === undefined) return "tokenizer.ggml.tokens is missing, expected a list of texts"
  if (kinds === undefined) return "tokenizer.ggml.token_type is missing, expected a list of numbers"
  if (merges === undefined) return "tokenizer.ggml.merges is missing, expected a list of pairs"
  if (kinds.length === tokens.length) return { tokens, kinds, merges }
  return `tokenizer.ggml.token_type has ${kinds.length} entries, expected ${tokens.length}, as there are tokens`
}

const definition = ({ kinds, merges, tokens }: Vocabulary, pre: PreTokenization) => {
  const isAdded = (id: number) => kinds[id] === control || kinds[id] === userDefined
  const isListed = (id: number) => kinds[id] === normal || (isAdded(id) && pre.listsSpecialTokens === true)
  const added = tokens.flatMap((content, id) =>
    isAdded(id)
      ? [{
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: kinds[id] === control
      }]
      : []
  )
  return {
    added_tokens: added,
    normalizer: pre.normalizer ?? null,
    pre_tokenizer: pre.preTokenizer,
    post_processor: null,
    decoder: byteLevel(true),
    model: {
      type: "BPE",
      ignore_merges: pre.ignoreMerges ?? false,
      vocab: Object.fromEntries(tokens.flatMap((token, id) => isListed(id) ? [[token, id]] : [])),
      merges
    }
  }
}

/** Beginning and end of a text, and the chat template, under the names of a `tokenizer_config.json`. */
const configuration = (metadata: Metadata, { tokens }: Vocabulary) => {
  const token = (key: string) => {
    const id = metadata.get(key)
    return typeof id === "number" ? tokens[id] : undefined
  }
  const begins = metadata.get("tokenizer.ggml.add_bos_token") === true
  return {
    bos_token: begins ? token("tokenizer.ggml.bos_token_id") ?? null : null,
    eos_token: token("tokenizer.ggml.eos_token_id") ?? null,
    chat_template: metadata.get("tokenizer.chat_template") ?? null
  }
}

/**
 * The content of `tokenizer.json` and `tokenizer_config.json`. Fails for a kind of tokenizer that is not byte-level BPE, and
 * for a way to cut text that is not known here.
 */
export const files = Effect.fnUntraced(function*(file: string, metadata: Metadata) {
  const fail = (detail: string) => new Tokenizer.TokenizerError({ tokenizer: file, detail })
  const kind = metadata.get("tokenizer.ggml.model")
  if (kind !== "gpt2") {
    return yield* fail(`tokenizer.ggml.model is ${JSON.stringify(kind)}, expected "gpt2", which is byte-level BPE`)
  }
  const name = metadata.get("tokenizer.ggml.pre")
  const pre = typeof name === "string" ? preTokenizations.get(name) : undefined
  if (pre === undefined) {
    const known = Array.from(preTokenizations.keys(), (key) => JSON.stringify(key)).join(", ")
    return yield* fail(`tokenizer.ggml.pre is ${JSON.stringify(name)}, expected one of ${known}`)
  }
  const vocabulary = vocabularyOf(metadata)
  if (typeof vocabulary === "string") return yield* fail(vocabulary)
  return { definition: definition(vocabulary, pre), configuration: configuration(metadata, vocabulary) }
})

/** The tokenizer itself; fails as `files` does. */
export const fromMetadata = Effect.fnUntraced(function*(file: string, metadata: Metadata) {
  const { configuration, definition } = yield* files(file, metadata)
  return yield* HuggingFaceTokenizer.fromJson(file, definition, configuration)
})
