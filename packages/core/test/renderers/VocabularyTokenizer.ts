/** The real Qwen3 and Llama 3 vocabularies, where a checkout has them beside it; a test without them is skipped. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import { describe } from "@effect/vitest"
import { Tokenizer as HuggingFace } from "@huggingface/tokenizers"
import { Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const AddedToken = Schema.Struct({ id: Schema.Int, content: Schema.String, special: Schema.Boolean })
const Definition = Schema.StructWithRest(
  Schema.Struct({
    added_tokens: Schema.Array(Schema.StructWithRest(AddedToken, [Schema.Record(Schema.String, Schema.Unknown)]))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

const find = (file: string): string | undefined => {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, "shared/data/tokenizers", file)
    if (existsSync(candidate)) return candidate
  }
  return undefined
}

const load = (path: string, marks: { readonly bos?: string; readonly eos: string }): Tokenizer.Tokenizer => {
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
      return Int32Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids)
    },
    decode: (tokens) =>
      tokens.length === 0 ? "" : whole.decode(Array.from(tokens), { clean_up_tokenization_spaces: false }),
    specialToken: (text) => special.get(text),
    bosToken: marks.bos,
    eosTokenId: special.get(marks.eos),
    fingerprint: path
  }
}

export type Name = "qwen3" | "llama3"

const marks = {
  qwen3: { eos: "<|im_end|>" },
  llama3: { bos: "<|begin_of_text|>", eos: "<|eot_id|>" }
} as const

const loaded = new Map<Name, Tokenizer.Tokenizer>()

const get = (name: Name, path: string): Tokenizer.Tokenizer => {
  const tokenizer = loaded.get(name) ?? load(path, marks[name])
  loaded.set(name, tokenizer)
  return tokenizer
}

/** A block of tests that need real vocabularies; shown as skipped where the files are absent. */
export const describeWithVocabularies = (
  title: string,
  body: (tokenizer: (name: Name) => Tokenizer.Tokenizer) => void
) => {
  const paths = { qwen3: find("qwen3.tokenizer.json"), llama3: find("llama3.tokenizer.json") }
  const { llama3, qwen3 } = paths
  if (llama3 === undefined || qwen3 === undefined) {
    return describe.skip(`${title} (skipped: shared/data/tokenizers absent)`, () =>
      body(() => {
        throw new Error("absent")
      }))
  }
  return describe(title, () => body((name) => get(name, name === "qwen3" ? qwen3 : llama3)))
}
