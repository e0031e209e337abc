/** Tokenizers in Hugging Face format: `tokenizer.json` with an optional `tokenizer_config.json`. */
import { Tokenizer } from "@effect-rl/core/renderers"
import { Tokenizer as Implementation } from "@huggingface/tokenizers"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as FileFailure from "../file/FileFailure.ts"
import * as ByteFallback from "./ByteFallback.ts"
import * as ByteLevel from "./ByteLevel.ts"
import * as IncrementalDecoder from "./IncrementalDecoder.ts"
import * as Jinja from "./Jinja.ts"
import * as RankFile from "./RankFile.ts"
import * as SplitPattern from "./SplitPattern.ts"
import {
  chatTemplate,
  fingerprint,
  isByteLevel,
  TokenizerConfig,
  TokenizerDefinition,
  tokenText
} from "./TokenizerDefinition.ts"

/** A tokenizer that can also give the bytes of each token. */
export interface HuggingFaceTokenizer extends Tokenizer.Tokenizer {
  /** The bytes of each token; undefined if the vocabulary is not byte-level, so its tokens do not stand for bytes. */
  readonly tokenBytes: ByteLevel.TokenBytes | undefined
  /** The ids of added tokens, which are not part of the text vocabulary, such as an end-of-message token. */
  readonly addedTokens: ReadonlyArray<number>
  /** Creates a decoder for the tokens of one text as they arrive. */
  readonly incrementalDecoder: () => IncrementalDecoder.IncrementalDecoder
}

/** A tokenizer that encodes special tokens in a text as plain text. It shares the large tables of `full`. */
const makeSplitting = (definition: TokenizerDefinition, full: Implementation): Implementation => {
  const splitting = new Implementation({
    ...definition,
    model: { type: "BPE", vocab: {}, merges: [] },
    added_tokens: definition.added_tokens.filter((token) => token.special !== true)
  }, {})
  splitting.model = full.model
  return splitting
}

/** Replaces unpaired surrogates with U+FFFD, as Rust does. */
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, "\ufffd")

const makeTokenBytes = (definition: TokenizerDefinition, full: Implementation) => {
  if (!isByteLevel(definition)) return undefined
  const added = new Set(definition.added_tokens.map((token) => token.id))
  return ByteLevel.tokenBytes(full.model?.vocab ?? [], (id) => added.has(id))
}

/**
 * The bytes of single tokens. No function if decoding strips spaces, because the bytes of a token then depend on
 * whether the token comes first.
 */
const bytesOfTokens = (table: ByteLevel.TokenBytes | undefined, fallback: ByteFallback.ByteFallback | undefined) => {
  if (table !== undefined) return { bytesOf: (token: number) => ByteLevel.bytesOfToken(table, token) }
  if (fallback?.stripped !== 0) return {}
  return { bytesOf: (token: number) => ByteFallback.bytesOfToken(fallback, token) }
}

const make = (definition: TokenizerDefinition, config: TokenizerConfig): HuggingFaceTokenizer => {
  const portable = { ...definition, pre_tokenizer: SplitPattern.portable(definition.pre_tokenizer) }
  const full = new Implementation(portable, {})
  const splitting = makeSplitting(portable, full)
  const tokenBytes = makeTokenBytes(definition, full)
  const fallback = ByteFallback.make(definition.decoder, full.model?.vocab ?? [])
  const addedTokens = new Map(definition.added_tokens.map((token) => [token.content, token.id]))
  const eosToken = tokenText(config.eos_token)
  const template = chatTemplate(config.chat_template)
  const decode = (tokens: ArrayLike<number>) => {
    if (tokens.length === 0) return ""
    if (tokenBytes !== undefined) return ByteLevel.decode(tokenBytes, tokens)
    if (fallback !== undefined) return ByteFallback.decode(fallback, tokens)
    return full.decode(Array.from(tokens), { clean_up_tokenization_spaces: false })
  }
  return {
    encode: (text, options) => {
      const reader = options?.splitSpecialTokens === true ? splitting : full
      return Int32Array.from(reader.encode(wellFormed(text), { add_special_tokens: false }).ids)
    },
    decode,
    ...bytesOfTokens(tokenBytes, fallback),
    specialToken: (text) => addedTokens.get(text),
    bosToken: tokenText(config.bos_token),
    eosTokenId: eosToken === undefined ? undefined : full.token_to_id(eosToken),
    ...(template === undefined ? {} : { chatTemplate: Jinja.compile(template) }),
    fingerprint: fingerprint(definition),
    tokenBytes,
    addedTokens: definition.added_tokens.map(({ id }) => id),
    incrementalDecoder: () => {
      if (tokenBytes !== undefined) return IncrementalDecoder.fromTokenBytes(tokenBytes)
      if (fallback !== undefined) return IncrementalDecoder.fromByteFallback(fallback)
      return IncrementalDecoder.fromDecode(decode)
    }
  }
}

const fileNames = { tokenizer: "tokenizer.json", config: "tokenizer_config.json" }

/** The template file of newer models, which do not include the template in the configuration. */
export const templateFile = "chat_template.jinja"

/** A vocabulary file in tiktoken format, used if a folder has no `tokenizer.json`. */
export const rankFile = "tiktoken.model"

const invalid = (id: string, file: string, cause: unknown) =>
  new Tokenizer.TokenizerError({
    tokenizer: id,
    detail: `${file} is not a tokenizer definition: ${cause instanceof Error ? cause.message : String(cause)}`
  })

const decodePart = <A>(schema: Schema.Codec<A, unknown>, id: string, file: string, json: unknown) =>
  Schema.decodeUnknownEffect(schema)(json).pipe(Effect.mapError((cause) => invalid(id, file, cause)))

/** Refuses regular expressions that may take hours on some texts. */
const checkPatterns = (id: string, file: string, { decoder, normalizer, pre_tokenizer }: TokenizerDefinition) => {
  for (const pattern of SplitPattern.regexesOf([normalizer, pre_tokenizer, decoder])) {
    const part = SplitPattern.riskyPart(pattern)
    if (part === undefined) continue
    return new Tokenizer.TokenizerError({
      tokenizer: id,
      detail:
        `${file} has the regular expression ${JSON.stringify(pattern)}, whose part ${JSON.stringify(part)} may take ` +
        "exponential time: expected no group that is repeated without a bound and no back-reference"
    })
  }
  return Effect.void
}

const build = Effect.fnUntraced(function*(id: string, files: typeof fileNames, tokenizer: unknown, config: unknown) {
  const definition = yield* decodePart(TokenizerDefinition, id, files.tokenizer, tokenizer)
  const names = yield* decodePart(TokenizerConfig, id, files.config, config)
  yield* checkPatterns(id, files.tokenizer, definition)
  return yield* Effect.try({
    try: () => make(definition, names),
    catch: (cause) => invalid(id, files.tokenizer, cause)
  })
})

/**
 * Creates a tokenizer from the parsed contents of `tokenizer.json` and `tokenizer_config.json`. Without `config`, the tokenizer has no
 * `bosToken`, no `eosTokenId` and no `chatTemplate`. `id` names the tokenizer in errors.
 */
export const fromJson = (
  id: string,
  tokenizer: unknown,
  config: unknown = {}
): Effect.Effect<HuggingFaceTokenizer, Tokenizer.TokenizerError> => build(id, fileNames, tokenizer, config)

const readText = Effect.fnUntraced(function*(id: string, file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(file).pipe(
    Effect.mapError((error) =>
      new Tokenizer.TokenizerError({ tokenizer: id, detail: FileFailure.describe(file, error) })
    )
  )
})

const readJson = (id: string, file: string) =>
  Effect.flatMap(readText(id, file), (text) => decodePart(Schema.fromJsonString(Schema.Unknown), id, file, text))

/** The configuration that accompanies a rank file and lists the special tokens by id. */
const RankConfig = Schema.Struct({
  added_tokens_decoder: Schema.Record(Schema.String, Schema.Struct({ content: Schema.String }))
})

const fromRankFile = Effect.fnUntraced(function*(id: string, files: typeof fileNames, config: unknown) {
  const { added_tokens_decoder } = yield* decodePart(RankConfig, id, files.config, config)
  const addedTokens = Object.entries(added_tokens_decoder).map(([token, { content }]) => ({
    id: Number(token),
    content,
    special: true
  }))
  const text = yield* readText(id, files.tokenizer)
  return yield* RankFile.definition(id, text, { pattern: RankFile.kimiPattern, addedTokens })
})

/**
 * Loads a tokenizer from `tokenizer.json` in a folder, with `tokenizer_config.json` and `chat_template.jinja` if present. A folder with
 * `tiktoken.model` instead of `tokenizer.json` is read with Kimi K2's split pattern and the special tokens in its configuration. Fails with
 * `TokenizerError` if a file is missing or invalid.
 *
 * @example
 * const text = Effect.map(HuggingFaceTokenizer.fromFolder("models/SmolLM2"), (tokenizer) => tokenizer.decode([12, 55]))
 */
export const fromFolder = Effect.fn("HuggingFaceTokenizer.fromFolder")(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const has = (file: string) => fs.exists(path.join(folder, file)).pipe(Effect.orElseSucceed(() => false))
  const isRanked = !(yield* has(fileNames.tokenizer)) && (yield* has(rankFile))
  const files = {
    tokenizer: path.join(folder, isRanked ? rankFile : fileNames.tokenizer),
    config: path.join(folder, fileNames.config)
  }
  const template = path.join(folder, templateFile)
  const config = (yield* has(fileNames.config))
    ? yield* decodePart(
      Schema.Record(Schema.String, Schema.Unknown),
      folder,
      files.config,
      yield* readJson(folder, files.config)
    )
    : {}
  const own = (yield* has(templateFile)) ? { chat_template: yield* readText(folder, template) } : {}
  const definition = isRanked ? yield* fromRankFile(folder, files, config) : yield* readJson(folder, files.tokenizer)
  return yield* build(folder, files, definition, { ...config, ...own })
})
