/** The vocabularies of Qwen3 and Llama 3, pruned to the tokens that the tests use; see `fixtures/vocabularies`. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import { Tokenizer as HuggingFace } from "@huggingface/tokenizers"
import { Schema } from "effect"
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"

const AddedToken = Schema.Struct({ id: Schema.Int, content: Schema.String, special: Schema.Boolean })
const Definition = Schema.StructWithRest(
  Schema.Struct({
    added_tokens: Schema.Array(Schema.StructWithRest(AddedToken, [Schema.Record(Schema.String, Schema.Unknown)]))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

export type Name = "qwen3" | "llama3"

const marks: Readonly<Record<Name, { readonly bos?: string; readonly eos: string }>> = {
  qwen3: { eos: "<|im_end|>" },
  llama3: { bos: "<|begin_of_text|>", eos: "<|eot_id|>" }
}

/** The tokenizer of a `tokenizer.json`. `onTokens` is called with the tokens that it encodes and decodes. */
export const read = (
  name: Name,
  path: string,
  onTokens: (ids: ArrayLike<number>) => void = () => {}
): Tokenizer.Tokenizer => {
  const definition = Schema.decodeUnknownSync(Schema.fromJsonString(Definition))(readFileSync(path, "utf8"))
  const special = new Map(
    definition.added_tokens.filter((token) => token.special).map((token) => [token.content, token.id])
  )
  const whole = new HuggingFace({ ...definition }, {})
  const split = new HuggingFace(
    { ...definition, added_tokens: definition.added_tokens.filter((token) => !token.special) },
    {}
  )
  return {
    encode: (text, options) => {
      const tokenizer = options?.splitSpecialTokens === true ? split : whole
      const tokens = Int32Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids)
      onTokens(tokens)
      return tokens
    },
    decode: (tokens) => {
      onTokens(tokens)
      return tokens.length === 0 ? "" : whole.decode(Array.from(tokens), { clean_up_tokenization_spaces: false })
    },
    specialToken: (text) => special.get(text),
    bosToken: marks[name].bos,
    eosTokenId: special.get(marks[name].eos),
    fingerprint: path
  }
}

/** The folder with the pruned vocabularies. */
export const folder = join(import.meta.dirname, "../fixtures/vocabularies")

/** A folder of full vocabularies. If it is set, the tokens that the tests use are written there. */
const recording = process.env["EFFECT_RL_WHOLE_VOCABULARIES"]

const made = new Map<Name, Tokenizer.Tokenizer>()

const make = (name: Name) =>
  recording === undefined
    ? read(name, join(folder, `${name}.json`))
    : read(
      name,
      join(recording, `${name}.tokenizer.json`),
      (ids) => appendFileSync(join(recording, `${name}.met`), `${Array.from(ids).join(" ")}\n`)
    )

/** A tokenizer with the model's own ids. */
export const of = (name: Name): Tokenizer.Tokenizer => {
  const tokenizer = made.get(name) ?? make(name)
  made.set(name, tokenizer)
  return tokenizer
}
