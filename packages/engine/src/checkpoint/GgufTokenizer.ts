/** Converts a tokenizer between GGUF metadata and the `tokenizer.json` and `tokenizer_config.json` of Hugging Face. */
import { Tokenizer } from "@effect-rl/core/renderers"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as GgufEncoding from "../numerics/GgufEncoding.ts"
import type { Metadata } from "../numerics/GgufHeader.ts"

/** How text is split before byte-pair merging, in the terms of `tokenizer.json`. */
interface PreTokenization {
  readonly preTokenizer: object
  readonly normalizer?: object
  readonly ignoreMerges?: boolean
  /** Whether the vocabulary repeats the special tokens, as in this family's original `tokenizer.json`. */
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

/** Splits text as Qwen2 and Llama 3 do, into words, digits (by the pattern `digits`), punctuation and line ends. */
const words = (digits: string) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

const qwen2: PreTokenization = {
  normalizer: { type: "NFC" },
  preTokenizer: sequence(split(words("\\p{N}")), byteLevel(false))
}

/** Known pre-tokenizers by their name in `tokenizer.ggml.pre`. */
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

/** Token types in `tokenizer.ggml.token_type`. */
const [normal, control, userDefined, unused] = [1, 3, 4, 5]

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
  return `tokenizer.ggml.token_type has ${kinds.length} entries, expected ${tokens.length}, one per token`
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

/** The start token (null unless the file adds one to texts), the end token and the chat template, as in `tokenizer_config.json`. */
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
 * The parsed contents of `tokenizer.json` (`definition`) and `tokenizer_config.json` (`configuration`). Fails with `TokenizerError` for
 * tokenizers other than byte-level BPE, for an unknown pre-tokenizer, and for missing or invalid tables.
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

/** The tokenizer in a file's metadata. Fails in the same cases as `files`. */
export const fromMetadata = Effect.fnUntraced(function*(file: string, metadata: Metadata) {
  const { configuration, definition } = yield* files(file, metadata)
  return yield* HuggingFaceTokenizer.fromJson(file, definition, configuration)
})

const Definition = Schema.fromJsonString(Schema.Struct({
  added_tokens: Schema.optionalKey(
    Schema.Array(Schema.Struct({ id: Schema.Int, content: Schema.String, special: Schema.Boolean }))
  ),
  pre_tokenizer: Schema.Unknown,
  model: Schema.Struct({
    type: Schema.Literal("BPE"),
    vocab: Schema.Record(Schema.String, Schema.Int),
    merges: Schema.Array(Schema.Union([Schema.String, Schema.Tuple([Schema.String, Schema.String])]))
  })
}))

const Content = Schema.Struct({ content: Schema.String })

const Named = Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Content])))

const Configuration = Schema.fromJsonString(Schema.Struct({
  bos_token: Named,
  eos_token: Named,
  pad_token: Named,
  add_bos_token: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  chat_template: Schema.optionalKey(Schema.NullOr(Schema.Unknown))
}))

/** Fields that do not change how text is split. */
const neutral = new Set(["trim_offsets", "invert"])

const canonical = (pre: unknown) => JSON.stringify(pre, (key, value: unknown) => neutral.has(key) ? undefined : value)

/** A token that pads the vocabulary to the number of embedding rows. */
const filler = (id: number) => `[PAD${id}]`

/** The GGUF name of a pre-tokenizer; the first name if several split alike, undefined if none does. */
const preNameOf = (pre: unknown) =>
  Array.from(preTokenizations).find(([, { preTokenizer }]) => canonical(preTokenizer) === canonical(pre))?.[0]

/**
 * Converts `tokenizer.json` and `tokenizer_config.json` to GGUF metadata, with one token for each row of the model's embedding. Fails for
 * tokenizers other than byte-level BPE and for an unknown pre-tokenizer.
 */
export const toMetadata = Effect.fnUntraced(function*(
  place: string,
  texts: { readonly definition: string; readonly configuration: string },
  vocabularySize: number
) {
  const fail = (detail: string) => new Tokenizer.TokenizerError({ tokenizer: place, detail })
  const asFailure = Effect.mapError(({ message }: { readonly message: string }) => fail(message))
  const { added_tokens: added = [], model: { merges, vocab }, pre_tokenizer: pre } = yield* asFailure(
    Schema.decodeUnknownEffect(Definition)(texts.definition)
  )
  const configuration = yield* asFailure(Schema.decodeUnknownEffect(Configuration)(texts.configuration))
  const preName = preNameOf(pre)
  if (preName === undefined) {
    const known = Array.from(preTokenizations.keys(), (key) => JSON.stringify(key)).join(", ")
    return yield* fail(`splits text differently from ${known}, the pre-tokenizers whose names are known`)
  }
  const ids = new Map([...Object.entries(vocab), ...added.map(({ content, id }) => [content, id] as const)])
  const tokens = Array.from({ length: vocabularySize }, (_, id) => filler(id))
  const kinds = Array.from({ length: vocabularySize }, () => unused)
  for (const [token, id] of ids) {
    tokens[id] = token
    kinds[id] = normal
  }
  for (const { id, special } of added) kinds[id] = special ? control : userDefined
  const idOf = (key: string, named: typeof Content.Type | string | null | undefined): GgufEncoding.Metadata => {
    const id = ids.get(typeof named === "object" ? named?.content ?? "" : named ?? "")
    return id === undefined ? {} : { [`tokenizer.ggml.${key}_token_id`]: ["u32", id] }
  }
  const { add_bos_token: addsBos, bos_token: bos, chat_template: template, eos_token: eos, pad_token: pad } =
    configuration
  const metadata: GgufEncoding.Metadata = {
    "tokenizer.ggml.model": ["string", "gpt2"],
    "tokenizer.ggml.pre": ["string", preName],
    "tokenizer.ggml.tokens": ["array", "string", tokens],
    "tokenizer.ggml.token_type": ["array", "i32", kinds],
    "tokenizer.ggml.merges": [
      "array",
      "string",
      merges.map((pair) => typeof pair === "string" ? pair : pair.join(" "))
    ],
    ...idOf("bos", bos),
    ...idOf("eos", eos),
    ...idOf("padding", pad),
    "tokenizer.ggml.add_bos_token": ["bool", addsBos === true],
    ...typeof template === "string" ? { "tokenizer.chat_template": ["string", template] } : {}
  }
  return metadata
})

/** Types of the metadata keys that describe a tokenizer. */
const copiedTypes = {
  "tokenizer.ggml.model": "string",
  "tokenizer.ggml.pre": "string",
  "tokenizer.ggml.tokens": "string",
  "tokenizer.ggml.token_type": "i32",
  "tokenizer.ggml.merges": "string",
  "tokenizer.ggml.bos_token_id": "u32",
  "tokenizer.ggml.eos_token_id": "u32",
  "tokenizer.ggml.unknown_token_id": "u32",
  "tokenizer.ggml.padding_token_id": "u32",
  "tokenizer.ggml.add_bos_token": "bool",
  "tokenizer.ggml.add_space_prefix": "bool",
  "tokenizer.chat_template": "string"
} as const

/** Copies the tokenizer from the metadata of another GGUF file. */
export const copied = (metadata: Metadata): GgufEncoding.Metadata =>
  Object.fromEntries(
    Object.entries(copiedTypes).flatMap(([key, type]): ReadonlyArray<readonly [string, GgufEncoding.Value]> => {
      const value = metadata.get(key)
      if (value === undefined) return []
      return [[key, Array.isArray(value) ? ["array", type, value] : [type, value]]]
    })
  )
