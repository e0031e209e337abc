/** A model in one GGUF file of llama.cpp: weights, tokenizer and chat template together. */
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
  /** The file's metadata, which hold the tokenizer and the chat template. */
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

/** The name in a GGUF file of a tensor that Hugging Face calls `name`. */
export const nameOf = (name: string): string => {
  const [, layer, path = "", kind] = layerPattern.exec(name) ?? []
  return layer === undefined ? outerNames.get(name) ?? name : `blk.${layer}.${layerName.get(path) ?? path}.${kind}`
}

/** The row at which a file of the architecture `llama` has this row of queries or keys. */
export const pairedRow = (row: number, headSize: number): number => {
  const place = row % headSize
  const half = headSize / 2
  return row - place + (place % half) * 2 + Math.floor(place / half)
}

/**
 * Rows of a head in the order of the halves that are rotated together: files of the architecture `llama` have the two of
 * each pair side by side.
 */
const unpaired = (bytes: Uint8Array, rowBytes: number, headSize: number): Uint8Array => {
  const out = new Uint8Array(bytes.length)
  for (let row = 0; row < bytes.length / rowBytes; row++) {
    const from = pairedRow(row, headSize)
    out.set(bytes.subarray(from * rowBytes, (from + 1) * rowBytes), row * rowBytes)
  }
  return out
}

/** Whether files of the architecture `llama` have the rows of this matrix in pairs. */
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

/** A tensor that no part of the model reads would change what the model computes. */
const checkNothingLeft = (reader: Gguf.Reader, config: ModelConfig) => {
  const known = new Set([...ModelWeights.names(config).map(nameOf), GgufConfig.ropeDivisors])
  const left = reader.names.find((name) => !known.has(name))
  if (left === undefined) return Effect.void
  const detail = `tensor ${left}: is not a part of the ${config.family} models that the engine computes`
  return Effect.fail(new Gguf.GgufError({ file: reader.file, detail }))
}

/** Reads the metadata and checks that every tensor is there; the weights stay where they are until `load`. */
export const open = Effect.fn("GgufModel.open")(function*(file: string) {
  const reader = yield* Gguf.open(file)
  const config = yield* GgufConfig.fromReader(reader)
  yield* checkNothingLeft(reader, config)
  const storageOf = yield* ModelWeights.storage(config, finderOf(reader, config))
  return { file, config, storageOf, metadata: reader.metadata } satisfies GgufModel
}, Effect.scoped)

/** The file's tensors; it closes with the scope. */
export const finder = ({ config, file }: GgufModel) => Effect.map(Gguf.open(file), (reader) => finderOf(reader, config))

/** Reads all weights into `compute.weights`, which were allocated for this file's configuration and storage. */
export const load = Effect.fn("GgufModel.load")(function*(model: GgufModel, compute: Compute) {
  yield* ModelWeights.load(yield* finder(model), compute)
}, Effect.scoped)
