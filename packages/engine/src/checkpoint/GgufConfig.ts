/** Reads a model's configuration from the metadata of its GGUF file. */
import * as Effect from "effect/Effect"
import * as ModelConfig from "../model/ModelConfig.ts"
import * as Gguf from "../numerics/Gguf.ts"
import type * as GgufHeader from "../numerics/GgufHeader.ts"
import * as UnsupportedModel from "./UnsupportedModel.ts"

/** The name of the tensor with the rotary frequency divisors in Llama 3 files. */
export const ropeDivisors = "rope_freqs.weight"

/** Metadata fields, without the architecture prefix, for features that the engine lacks. Any value except 0 is refused. */
const uncomputed = ["expert_count", "attention.sliding_window", "logit_scale", "residual_scale", "embedding_scale"]

/** Functions that read typed metadata fields. `mistake` describes the first invalid field; undefined if there is none. */
const fields = (metadata: GgufHeader.Metadata, architecture: string) => {
  let mistake: string | undefined
  const get = (field: string) => metadata.get(`${architecture}.${field}`)
  const refuse = (field: string, found: unknown, expected: string) => {
    const text = typeof found === "number" ? String(found) : JSON.stringify(found)
    mistake ??= `${architecture}.${field} is ${text ?? "missing"}, expected ${expected}`
  }
  const number = (field: string, fallback?: number): number => {
    const found = get(field) ?? fallback
    if (typeof found === "number" && Number.isFinite(found) && found > 0) return found
    refuse(field, found, "a number above 0")
    return 1
  }
  const size = (field: string, fallback?: number): number => {
    const found = number(field, fallback)
    if (!Number.isInteger(found)) refuse(field, found, "a whole number")
    return found
  }
  return { get, number, refuse, size, mistake: () => mistake }
}

type Fields = ReturnType<typeof fields>

const vocabularySize = (metadata: GgufHeader.Metadata, { refuse }: Fields): number => {
  const tokens = metadata.get("tokenizer.ggml.tokens")
  if (Array.isArray(tokens) && tokens.length > 0) return tokens.length
  refuse("vocab_size", undefined, "tokens in tokenizer.ggml.tokens")
  return 1
}

/** The divisor of all rotary frequencies; 1 unless the file sets one. */
const linearFactor = ({ get, number, refuse }: Fields): number => {
  const type = get("rope.scaling.type") ?? "none"
  if (type === "none") return 1
  if (type !== "linear") refuse("rope.scaling.type", type, "\"none\" or \"linear\"")
  return number("rope.scaling.factor")
}

const biasNames = [["query", "attn_q"], ["key", "attn_k"], ["value", "attn_v"], ["output", "attn_output"]] as const

const checkSizes = (config: ModelConfig.ModelConfig, { refuse }: Fields) => {
  const multiples = [
    ["embedding_length", config.hiddenSize, 8],
    ["feed_forward_length", config.feedForwardSize, 8],
    ["attention.key_length", config.headSize, 8],
    ["attention.head_count", config.heads, config.keyHeads]
  ] as const
  for (const [field, found, of] of multiples) if (found % of !== 0) refuse(field, found, `a multiple of ${of}`)
  const limits = [
    ["block_count", config.layers, ModelConfig.most.layers],
    ["attention.key_length", config.headSize, ModelConfig.most.headSize]
  ] as const
  for (const [field, found, most] of limits) if (found > most) refuse(field, found, `at most ${most}`)
}

const read = (family: ModelConfig.Family, reader: Gguf.Reader, known: Fields): ModelConfig.ModelConfig => {
  const { get, number, refuse, size } = known
  const hiddenSize = size("embedding_length")
  const heads = size("attention.head_count")
  const headSize = size("attention.key_length", hiddenSize / heads)
  for (const field of ["attention.value_length", "rope.dimension_count"]) {
    const found = size(field, headSize)
    if (found !== headSize) refuse(field, found, `${headSize}, as keys have`)
  }
  for (const field of uncomputed) {
    const found = get(field) ?? 0
    if (found !== 0) refuse(field, found, "none")
  }
  const config: ModelConfig.ModelConfig = {
    family,
    vocabularySize: vocabularySize(reader.metadata, known),
    hiddenSize,
    feedForwardSize: size("feed_forward_length"),
    layers: size("block_count"),
    heads,
    keyHeads: size("attention.head_count_kv", heads),
    headSize,
    biases: biasNames.filter(([, name]) => reader.has(`blk.0.${name}.bias`)).map(([name]) => name),
    normEpsilon: number("attention.layer_norm_rms_epsilon"),
    ropeTheta: number("rope.freq_base", 10_000),
    contextLength: size("context_length"),
    tiedEmbeddings: !reader.has("output.weight")
  }
  checkSizes(config, known)
  return config
}

const readDivisors = Effect.fnUntraced(function*(reader: Gguf.Reader, headSize: number) {
  const fail = (detail: string) =>
    new Gguf.GgufError({ file: reader.file, detail: `tensor ${ropeDivisors}: ${detail}` })
  const tensor = yield* reader.find(ropeDivisors, [headSize / 2])
  if (tensor.type !== "F32") return yield* fail(`its type is ${tensor.type}, expected F32`)
  const bytes = new Uint8Array(tensor.bytes)
  yield* reader.read(tensor, 0, bytes)
  const divisors = Array.from(new Float32Array(bytes.buffer))
  const wrong = divisors.find((divisor) => !(divisor > 0 && divisor < Infinity))
  return wrong === undefined ? divisors : yield* fail(`holds ${wrong}, expected numbers above 0`)
})

/**
 * Reads a model's configuration. Fails with `GgufError` for an unsupported architecture, for one part of a split model, and for unsupported
 * or invalid fields.
 */
export const fromReader = Effect.fnUntraced(function*(reader: Gguf.Reader) {
  const { file, metadata } = reader
  const fail = (detail: string) => new Gguf.GgufError({ file, detail })
  const architecture = metadata.get("general.architecture")
  if (typeof architecture !== "string") return yield* fail("general.architecture is missing, expected a name")
  const family = UnsupportedModel.families.find((family) => family === architecture && family !== "mistral")
  if (family === undefined) {
    const found = UnsupportedModel.describe(architecture)
    return yield* fail(`general.architecture is ${found}, expected "llama", "qwen2" or "qwen3"`)
  }
  const parts = metadata.get("split.count") ?? 0
  if (typeof parts === "number" && parts > 1) {
    return yield* fail(`is one of ${parts} parts of a model: merge them with llama-gguf-split`)
  }
  const known = fields(metadata, architecture)
  const config = read(family, reader, known)
  const factor = linearFactor(known)
  const mistake = known.mistake()
  if (mistake !== undefined) return yield* fail(mistake)
  if (reader.has(ropeDivisors)) return { ...config, ropeDivisors: yield* readDivisors(reader, config.headSize) }
  return factor === 1
    ? config
    : { ...config, ropeDivisors: Array.from({ length: config.headSize / 2 }, () => factor) }
})
