/** Writes GGUF files for tests, from models with Hugging Face tensor names. */
import * as GgufModel from "@effect-rl/engine/checkpoint/GgufModel"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import type * as GgufHeader from "@effect-rl/engine/numerics/GgufHeader"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"

/** A tensor with its rows in Hugging Face order. */
export interface Tensor {
  readonly name: string
  readonly shape: ReadonlyArray<number>
  /** The type's number in the file. */
  readonly typeId: number
  readonly bytes: Uint8Array
}

export type Metadata = Readonly<Record<string, GgufHeader.Value>>

class Writer {
  readonly #parts: Array<Uint8Array> = []
  length = 0

  bytes(bytes: Uint8Array) {
    this.#parts.push(bytes)
    this.length += bytes.length
  }

  u32(value: number) {
    this.bytes(new Uint8Array(Uint32Array.of(value).buffer))
  }

  u64(value: number) {
    this.bytes(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer))
  }

  string(text: string) {
    const bytes = new TextEncoder().encode(text)
    this.u64(bytes.length)
    this.bytes(bytes)
  }

  /** Writes whole numbers as u32 and other numbers as f64. */
  value(value: GgufHeader.Value, withType = true) {
    const [type, write] = this.#typed(value)
    if (withType) this.u32(type)
    write()
  }

  #typed(value: GgufHeader.Value): readonly [number, () => void] {
    if (typeof value === "string") return [8, () => this.string(value)]
    if (typeof value === "boolean") return [7, () => this.bytes(Uint8Array.of(Number(value)))]
    if (typeof value === "number") {
      return Number.isInteger(value)
        ? [4, () => this.u32(value)]
        : [12, () => this.bytes(new Uint8Array(Float64Array.of(value).buffer))]
    }
    return [9, () => {
      const [first = 0] = value
      this.u32(this.#typed(first)[0])
      this.u64(value.length)
      for (const item of value) this.value(item, false)
    }]
  }

  pad(alignment: number) {
    this.bytes(new Uint8Array((alignment - this.length % alignment) % alignment))
  }

  all(): Uint8Array {
    const out = new Uint8Array(this.length)
    let next = 0
    for (const part of this.#parts) {
      out.set(part, next)
      next += part.length
    }
    return out
  }
}

const alignment = 32

/** Reorders the rows of each head as llama.cpp's `llama` architecture stores them: the two rows that are rotated together are adjacent. */
const paired = (bytes: Uint8Array, rows: number, headSize: number): Uint8Array => {
  const rowBytes = bytes.length / rows
  const out = new Uint8Array(bytes.length)
  for (let row = 0; row < rows; row++) {
    const [head, place] = [Math.floor(row / headSize), row % headSize]
    const [half, index] = [Math.floor(place / (headSize / 2)), place % (headSize / 2)]
    const target = head * headSize + 2 * index + half
    out.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), target * rowBytes)
  }
  return out
}

export const encode = (metadata: Metadata, tensors: ReadonlyArray<Tensor>): Uint8Array => {
  const header = new Writer()
  header.bytes(new TextEncoder().encode("GGUF"))
  header.u32(3)
  header.u64(tensors.length)
  header.u64(Object.keys(metadata).length)
  for (const [key, value] of Object.entries(metadata)) {
    header.string(key)
    header.value(value)
  }
  const data = new Writer()
  for (const { bytes, name, shape, typeId } of tensors) {
    header.string(name)
    header.u32(shape.length)
    for (const size of shape.toReversed()) header.u64(size)
    header.u32(typeId)
    header.u64(data.length)
    data.bytes(bytes)
    data.pad(alignment)
  }
  header.pad(alignment)
  header.bytes(data.all())
  return header.all()
}

/** A model's metadata, with placeholder tokens that fill its vocabulary. */
export const metadataOf = (config: ModelConfig): Metadata => {
  const { family } = config
  return {
    "general.architecture": family,
    [`${family}.embedding_length`]: config.hiddenSize,
    [`${family}.feed_forward_length`]: config.feedForwardSize,
    [`${family}.block_count`]: config.layers,
    [`${family}.attention.head_count`]: config.heads,
    [`${family}.attention.head_count_kv`]: config.keyHeads,
    [`${family}.attention.key_length`]: config.headSize,
    [`${family}.attention.value_length`]: config.headSize,
    [`${family}.attention.layer_norm_rms_epsilon`]: config.normEpsilon,
    [`${family}.rope.freq_base`]: config.ropeTheta,
    [`${family}.context_length`]: config.contextLength,
    "tokenizer.ggml.tokens": Array.from({ length: config.vocabularySize }, (_, id) => `t${id}`)
  }
}

const isPaired = (config: ModelConfig, name: string) =>
  config.family === "llama" && /[qk]_proj\.(weight|bias)$/.test(name)

/** A model as llama.cpp's converter writes it. */
export const ofModel = (config: ModelConfig, tensors: ReadonlyArray<Tensor>, metadata: Metadata = {}): Uint8Array => {
  const divisors = config.ropeDivisors
  const frequencies: ReadonlyArray<Tensor> = divisors === undefined ? [] : [{
    name: "rope_freqs.weight",
    shape: [divisors.length],
    typeId: TensorType.idOf("F32"),
    bytes: new Uint8Array(Float32Array.from(divisors).buffer)
  }]
  return encode({ ...metadataOf(config), ...metadata }, [
    ...frequencies,
    ...tensors.map((tensor) => {
      const [rows = 1] = tensor.shape
      const bytes = isPaired(config, tensor.name) ? paired(tensor.bytes, rows, config.headSize) : tensor.bytes
      return { ...tensor, bytes, name: GgufModel.nameOf(tensor.name) }
    })
  ])
}
