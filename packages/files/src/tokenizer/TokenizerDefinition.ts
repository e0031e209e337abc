/** Schemas for `tokenizer.json` and `tokenizer_config.json`. */
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"

export const AddedToken = Schema.Struct({
  id: Schema.Int,
  content: Schema.String,
  special: Schema.optionalKey(Schema.Boolean),
  lstrip: Schema.optionalKey(Schema.Boolean),
  rstrip: Schema.optionalKey(Schema.Boolean),
  single_word: Schema.optionalKey(Schema.Boolean),
  normalized: Schema.optionalKey(Schema.Boolean)
})

/** The vocabulary and the merges are not validated here, since they are large; the tokenizer's constructor rejects invalid tables. */
const Model = Schema.StructWithRest(
  Schema.Struct({ type: Schema.optionalKey(Schema.String), vocab: Schema.ObjectKeyword }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

export const TokenizerDefinition = Schema.Struct({
  model: Model,
  normalizer: Schema.Unknown,
  pre_tokenizer: Schema.Unknown,
  post_processor: Schema.Unknown,
  decoder: Schema.Unknown,
  added_tokens: Schema.Array(AddedToken)
})
export interface TokenizerDefinition extends Schema.Schema.Type<typeof TokenizerDefinition> {}

const NamedToken = Schema.optionalKey(
  Schema.NullOr(Schema.Union([Schema.String, Schema.Struct({ content: Schema.String })]))
)

const NamedTemplate = Schema.Struct({ name: Schema.String, template: Schema.String })

/** One template, or several templates with names. */
const Template = Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(NamedTemplate)])))

/** The fields of `tokenizer_config.json` that are used; other libraries use more. */
export const TokenizerConfig = Schema.Struct({
  bos_token: NamedToken,
  eos_token: NamedToken,
  chat_template: Template
})
export interface TokenizerConfig extends Schema.Schema.Type<typeof TokenizerConfig> {}

/** A token's text, which a configuration gives as a string or as an object with `content`. */
export const tokenText = (token: TokenizerConfig["bos_token"]): string | undefined =>
  typeof token === "string" ? token : token?.content

/** The only template, or the template named `default` of several; undefined if there is none. */
export const chatTemplate = (template: TokenizerConfig["chat_template"]): string | undefined =>
  typeof template === "string" ? template : template?.find(({ name }) => name === "default")?.template

/** Whether the definition uses byte-level encoding. */
export const isByteLevel = ({ decoder }: TokenizerDefinition): boolean =>
  Schema.is(Schema.Struct({ type: Schema.Literal("ByteLevel") }))(decoder)

/** JSON with sorted keys and without nulls, so that key order and absent fields make no difference. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const fields = Object.entries(value)
    .filter(([, field]) => field !== null && field !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1)
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(",")}}`
}

/** The vocabulary in id order, since files may use any order. */
const vocabularyById = (vocabulary: unknown): unknown => {
  if (typeof vocabulary !== "object" || vocabulary === null || Array.isArray(vocabulary)) return vocabulary
  const byId: Array<string> = []
  for (const [token, id] of Object.entries(vocabulary)) byId[Number(id)] = token
  return byId
}

/** Writes each merge as `"a b"`; files may also use `["a", "b"]`. */
const mergeLines = (merges: unknown): unknown =>
  Array.isArray(merges) ? merges.map((merge) => Array.isArray(merge) ? merge.join(" ") : merge) : merges

/** SHA-256 of everything that determines how text is encoded and decoded. Post-processing is excluded, as it only adds special tokens. */
export const fingerprint = (definition: TokenizerDefinition): string => {
  const { merges, vocab, ...model } = definition.model
  return createHash("sha256")
    .update(JSON.stringify([vocabularyById(vocab), mergeLines(merges)]))
    .update(canonical([model, definition.normalizer, definition.pre_tokenizer, definition.decoder]))
    .update(canonical(definition.added_tokens.toSorted((a, b) => a.id - b.id)))
    .digest("hex")
}
