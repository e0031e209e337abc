/** Tokenizers of the Hugging Face format: `tokenizer.json` beside an optional `tokenizer_config.json`. */
import { Tokenizer } from "@effect-rl/core"
import { Tokenizer as Implementation } from "@huggingface/tokenizers"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as FileFailure from "../file/FileFailure.ts"
import * as ByteLevel from "./ByteLevel.ts"
import {
  chatTemplate,
  fingerprint,
  isByteLevel,
  TokenizerConfig,
  TokenizerDefinition,
  tokenText
} from "./TokenizerDefinition.ts"

/** A tokenizer that also knows the bytes of each of its tokens. */
export interface HuggingFaceTokenizer extends Tokenizer.Tokenizer {
  /** Undefined where tokens do not stand for bytes: only byte-level vocabularies do. */
  readonly tokenBytes: ByteLevel.TokenBytes | undefined
}

/** Reads special tokens in a text as plain text. Shares the large tables of `full`. */
const makeSplitting = (definition: TokenizerDefinition, full: Implementation): Implementation => {
  const splitting = new Implementation({
    ...definition,
    model: { type: "BPE", vocab: {}, merges: [] },
    added_tokens: definition.added_tokens.filter((token) => token.special !== true)
  }, {})
  splitting.model = full.model
  return splitting
}

const makeTokenBytes = (definition: TokenizerDefinition, full: Implementation) => {
  if (!isByteLevel(definition)) return undefined
  const added = new Set(definition.added_tokens.map((token) => token.id))
  return ByteLevel.tokenBytes(full.model?.vocab ?? [], (id) => added.has(id))
}

const make = (definition: TokenizerDefinition, config: TokenizerConfig): HuggingFaceTokenizer => {
  const full = new Implementation(definition, {})
  const splitting = makeSplitting(definition, full)
  const tokenBytes = makeTokenBytes(definition, full)
  const addedTokens = new Map(definition.added_tokens.map((token) => [token.content, token.id]))
  const eosToken = tokenText(config.eos_token)
  const template = chatTemplate(config.chat_template)
  return {
    encode: (text, options) => {
      const reader = options?.splitSpecialTokens === true ? splitting : full
      return Int32Array.from(reader.encode(text, { add_special_tokens: false }).ids)
    },
    decode: (tokens) => {
      if (tokens.length === 0) return ""
      if (tokenBytes !== undefined) return ByteLevel.decode(tokenBytes, tokens)
      return full.decode(Array.from(tokens), { clean_up_tokenization_spaces: false })
    },
    specialToken: (text) => addedTokens.get(text),
    bosToken: tokenText(config.bos_token),
    eosTokenId: eosToken === undefined ? undefined : full.token_to_id(eosToken),
    ...(template === undefined ? {} : { chatTemplate: template }),
    fingerprint: fingerprint(definition),
    tokenBytes
  }
}

const fileNames = { tokenizer: "tokenizer.json", config: "tokenizer_config.json" }

/** Newer models keep their template beside the configuration, not inside. */
const templateFile = "chat_template.jinja"

const invalid = (id: string, file: string, cause: unknown) =>
  new Tokenizer.TokenizerError({
    tokenizer: id,
    detail: `${file} is not a tokenizer definition: ${cause instanceof Error ? cause.message : String(cause)}`
  })

const decodePart = <A>(schema: Schema.Codec<A, unknown>, id: string, file: string, json: unknown) =>
  Schema.decodeUnknownEffect(schema)(json).pipe(Effect.mapError((cause) => invalid(id, file, cause)))

const build = Effect.fnUntraced(function*(id: string, files: typeof fileNames, tokenizer: unknown, config: unknown) {
  const definition = yield* decodePart(TokenizerDefinition, id, files.tokenizer, tokenizer)
  const names = yield* decodePart(TokenizerConfig, id, files.config, config)
  return yield* Effect.try({
    try: () => make(definition, names),
    catch: (cause) => invalid(id, files.tokenizer, cause)
  })
})

/**
 * From the parsed content of `tokenizer.json` and `tokenizer_config.json`.
 * Without a configuration the tokenizer has no `bosToken` and no `eosTokenId`.
 */
export const fromJson = (
  id: string,
  tokenizer: unknown,
  config: unknown = {}
): Effect.Effect<HuggingFaceTokenizer, Tokenizer.TokenizerError> => build(id, fileNames, tokenizer, config)

/** From `tokenizer.json` and, if they are there, `tokenizer_config.json` and `chat_template.jinja` in a folder. */
export const fromFolder = Effect.fn("HuggingFaceTokenizer.fromFolder")(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const files = {
    tokenizer: path.join(folder, fileNames.tokenizer),
    config: path.join(folder, fileNames.config)
  }
  const readText = (file: string) =>
    Effect.mapError(
      fs.readFileString(file),
      (error) => new Tokenizer.TokenizerError({ tokenizer: folder, detail: FileFailure.describe(file, error) })
    )
  const read = (file: string) =>
    Effect.flatMap(readText(file), (text) => decodePart(Schema.fromJsonString(Schema.Unknown), folder, file, text))
  const exists = (file: string) => Effect.orElseSucceed(fs.exists(file), () => false)
  const config = (yield* exists(files.config))
    ? yield* decodePart(Schema.Record(Schema.String, Schema.Unknown), folder, files.config, yield* read(files.config))
    : {}
  const template = path.join(folder, templateFile)
  const own = (yield* exists(template)) ? { chat_template: yield* readText(template) } : {}
  return yield* build(folder, files, yield* read(files.tokenizer), { ...config, ...own })
})
