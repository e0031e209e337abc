/** Preset tiny-64 as a GGUF file with its tokenizer and chat template. */
import * as ModelFolder from "@effect-rl/engine/checkpoint/ModelFolder"
import * as ModelWeights from "@effect-rl/engine/checkpoint/ModelWeights"
import type * as GgufHeader from "@effect-rl/engine/numerics/GgufHeader"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import { Effect, Path, Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as GgufFile from "./GgufFile.ts"

export const folder = fileURLToPath(new URL("../../presets/tiny-64/", import.meta.url))

const Definition = Schema.Struct({
  added_tokens: Schema.Array(Schema.Struct({ id: Schema.Int, content: Schema.String })),
  model: Schema.Struct({ vocab: Schema.Record(Schema.String, Schema.Int), merges: Schema.Array(Schema.String) })
})

const { added_tokens: added, model } = Schema.decodeUnknownSync(Schema.fromJsonString(Definition))(
  readFileSync(`${folder}/tokenizer.json`, "utf8")
)

const Configuration = Schema.Struct({ chat_template: Schema.String })

const { chat_template } = Schema.decodeUnknownSync(Schema.fromJsonString(Configuration))(
  readFileSync(`${folder}/tokenizer_config.json`, "utf8")
)

const tokens: Array<string> = []
for (const [token, id] of Object.entries(model.vocab)) tokens[id] = token
for (const { content, id } of added) tokens[id] = content

export const tokenizerMetadata: Readonly<Record<string, GgufHeader.Value>> = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "qwen2",
  "tokenizer.ggml.tokens": tokens,
  "tokenizer.ggml.token_type": tokens.map((_, id) => added.some((token) => token.id === id) ? 3 : 1),
  "tokenizer.ggml.merges": model.merges,
  "tokenizer.ggml.eos_token_id": tokens.indexOf("<|im_end|>"),
  "tokenizer.chat_template": chat_template
}

/** The bytes of the GGUF file. */
export const encode = Effect.gen(function*() {
  const path = yield* Path.Path
  const { config } = yield* ModelFolder.open(folder)
  const reader = yield* Safetensors.open(path.join(folder, "model.safetensors"))
  const tensors = yield* Effect.forEach(ModelWeights.names(config), (name) =>
    Effect.gen(function*() {
      const shape = reader.tensors.get(name)?.shape ?? []
      const info = yield* reader.find(name, shape)
      const bytes = new Uint8Array(info.bytes)
      yield* reader.read(info, 0, bytes)
      return { name, shape, typeId: TensorType.idOf(info.dtype), bytes }
    }))
  return GgufFile.ofModel(config, tensors, tokenizerMetadata)
}).pipe(Effect.scoped)
