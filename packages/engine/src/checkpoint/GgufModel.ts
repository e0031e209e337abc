/** A model in one GGUF file of llama.cpp, with its weights, tokenizer and chat template. */
import * as Effect from "effect/Effect"
import type { Compute } from "../model/Compute.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import type { StorageOf } from "../model/Weights.ts"
import * as Gguf from "../numerics/Gguf.ts"
import type { Metadata } from "../numerics/GgufHeader.ts"
import * as GgufConfig from "./GgufConfig.ts"
import * as ModelWeights from "./ModelWeights.ts"

export interface GgufModel {
  readonly file: string
  readonly config: ModelConfig
  readonly storageOf: StorageOf
  /** The file's metadata, including the tokenizer and the chat template. */
  readonly metadata: Metadata
}

const layerNames: ReadonlyArray<readonly [huggingFace: string, gguf: string]> = [
  ["input_layernorm", "attn_norm"],
  ["post_attention_layernorm", "ffn_norm"],
  ["self_attn.q_norm", "attn_q_norm"],
  ["self_attn.k_norm", "attn_k_norm"],
  ["self_attn.q_proj", "attn_q"],
  ["self_attn.k_proj", "attn_k"],
  ["self_attn.v_proj", "attn_v"],
  ["self_attn.o_proj", "attn_output"],
  ["mlp.gate_proj", "ffn_gate"],
  ["mlp.up_proj", "ffn_up"],
  ["mlp.down_proj", "ffn_down"]
]

const layerName = new Map(layerNames)

const layerPattern = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/

const outerNames = new Map([
  ["model.embed_tokens.weight", "token_embd.weight"],
  ["model.norm.weight", "output_norm.weight"],
  ["lm_head.weight", "output.weight"]
])

/** The GGUF name of a tensor, given its Hugging Face name. */
export const nameOf = (name: string): string => {
  const [, layer, path = "", kind] = layerPattern.exec(name) ?? []
  return layer === undefined ? outerNames.get(name) ?? name : `blk.${layer}.${layerName.get(path) ?? path}.${kind}`
}

/** The row of a `llama` GGUF file that holds row `row` of a query or key matrix. */
export const pairedRow = (row: number, headSize: number): number => {
  const place = row % headSize
  const half = headSize / 2
  return row - place + (place % half) * 2 + Math.floor(place / half)
}

/** Converts query or key rows from the order of `llama` files, which interleave the two halves of each head, to the engine's order. */
const unpaired = (bytes: Uint8Array, rowBytes: number, headSize: number): Uint8Array => {
  const out = new Uint8Array(bytes.length)
  for (let row = 0; row < bytes.length / rowBytes; row++) {
    const from = pairedRow(row, headSize)
    out.set(bytes.subarray(from * rowBytes, (from + 1) * rowBytes), row * rowBytes)
  }
  return out
}

/** Whether the model's GGUF file interleaves the rows of this tensor, as `llama` files do for query and key projections. */
export const isPaired = (config: ModelConfig, name: string) =>
  config.family === "llama" && /\.self_attn\.[qk]_proj\.(weight|bias)$/.test(name)

const finderOf = (reader: Gguf.Reader, config: ModelConfig): ModelWeights.Find<Gguf.GgufError> =>
  Effect.fnUntraced(function*(name, shape) {
    const tensor = yield* reader.find(nameOf(name), shape)
    const { bytes, type } = tensor
    if (!isPaired(config, name)) {
      return { type, read: (offset: number, into: Uint8Array) => reader.read(tensor, offset, into) }
    }
    const [rows = 1] = shape
    const whole = yield* Effect.cached(Effect.gen(function*() {
      const raw = new Uint8Array(bytes)
      yield* reader.read(tensor, 0, raw)
      return unpaired(raw, bytes / rows, config.headSize)
    }))
    const read = (offset: number, into: Uint8Array) =>
      Effect.map(whole, (rows) => into.set(rows.subarray(offset, offset + into.length)))
    return { type, read }
  })

/** Fails if the file has a tensor that the engine does not read: ignoring it would change the model's results. */
const checkNothingLeft = (reader: Gguf.Reader, config: ModelConfig) => {
  const known = new Set([...ModelWeights.names(config).map(nameOf), GgufConfig.ropeDivisors])
  const left = reader.names.find((name) => !known.has(name))
  if (left === undefined) return Effect.void
  const detail = `tensor ${left}: is not part of a ${config.family} model that the engine supports`
  return Effect.fail(new Gguf.GgufError({ file: reader.file, detail }))
}

/** Reads the metadata and checks that the file has every tensor of the model and no others. `load` reads the weights. */
export const open = Effect.fn("GgufModel.open")(function*(file: string) {
  const reader = yield* Gguf.open(file)
  const config = yield* GgufConfig.fromReader(reader)
  yield* checkNothingLeft(reader, config)
  const storageOf = yield* ModelWeights.storage(config, finderOf(reader, config))
  return { file, config, storageOf, metadata: reader.metadata } satisfies GgufModel
}, Effect.scoped)

/** Finds the file's tensors. The scope closes the file. */
export const finder = ({ config, file }: GgufModel) => Effect.map(Gguf.open(file), (reader) => finderOf(reader, config))

/** Reads all weights into `compute.weights`, which must be allocated for this file's configuration and storage. */
export const load = Effect.fn("GgufModel.load")(function*(model: GgufModel, compute: Compute) {
  yield* ModelWeights.load(yield* finder(model), compute)
}, Effect.scoped)
