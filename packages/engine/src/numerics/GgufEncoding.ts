/**
 * Writes GGUF version 3: a header with typed metadata and tensor offsets, then the tensors, each aligned to 32 bytes.
 *
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */

/** Metadata value types, with the format's numbers for them. */
const valueTypes = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8 } as const

type Scalar = { readonly [K in keyof typeof valueTypes]: readonly [type: K, value: unknown] }[keyof typeof valueTypes]

/** A value with its type, such as `["u32", 4]`, or an array of values of one type. */
export type Value = Scalar | readonly [type: "array", of: keyof typeof valueTypes, values: ReadonlyArray<unknown>]

export type Metadata = Readonly<Record<string, Value>>

/** Tensor types, with the format's numbers for them and the bytes per value. */
const tensorTypes = { F32: { id: 0, bytes: 4 }, F16: { id: 1, bytes: 2 } } as const

export type TensorType = keyof typeof tensorTypes

export interface Tensor {
  readonly name: string
  readonly type: TensorType
  /** The dimensions, number of rows first as in Hugging Face files. GGUF itself stores the row length first. */
  readonly shape: ReadonlyArray<number>
}

const alignment = 32

const aligned = (size: number) => Math.ceil(size / alignment) * alignment

const encoder = new TextEncoder()

const number = (size: number, write: (view: DataView) => void) => {
  const bytes = new Uint8Array(size)
  write(new DataView(bytes.buffer))
  return bytes
}

const u32 = (value: number) => number(4, (view) => view.setUint32(0, value, true))

const u64 = (value: number) => number(8, (view) => view.setBigUint64(0, BigInt(value), true))

const string = (text: string): ReadonlyArray<Uint8Array> => {
  const bytes = encoder.encode(text)
  return [u64(bytes.length), bytes]
}

const scalar = (type: keyof typeof valueTypes, value: unknown): ReadonlyArray<Uint8Array> => {
  switch (type) {
    case "u32":
      return [u32(Number(value))]
    case "i32":
      return [number(4, (view) => view.setInt32(0, Number(value), true))]
    case "f32":
      return [number(4, (view) => view.setFloat32(0, Number(value), true))]
    case "bool":
      return [Uint8Array.of(value === true ? 1 : 0)]
    case "string":
      return string(String(value))
  }
}

const arrayType = 9

const typed = (value: Value): ReadonlyArray<Uint8Array> => {
  if (value[0] !== "array") return [u32(valueTypes[value[0]]), ...scalar(value[0], value[1])]
  const [, of, values] = value
  return [u32(arrayType), u32(valueTypes[of]), u64(values.length), ...values.flatMap((item) => scalar(of, item))]
}

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let place = 0
  for (const part of parts) {
    all.set(part, place)
    place += part.length
  }
  return all
}

const countOf = ({ shape }: Tensor) => shape.reduce((product, size) => product * size, 1)

/** The header of a file with these tensors. The data must follow in the same order, each tensor encoded by `padded`. */
export const header = (metadata: Metadata, tensors: ReadonlyArray<Tensor>): Uint8Array => {
  const entries = Object.entries(metadata)
  const parts: Array<Uint8Array> = [encoder.encode("GGUF"), u32(3), u64(tensors.length), u64(entries.length)]
  for (const [key, value] of entries) parts.push(...string(key), ...typed(value))
  let offset = 0
  for (const tensor of tensors) {
    const { bytes, id } = tensorTypes[tensor.type]
    const lengths = tensor.shape.toReversed().map(u64)
    parts.push(...string(tensor.name), u32(tensor.shape.length), ...lengths, u32(id), u64(offset))
    offset += aligned(countOf(tensor) * bytes)
  }
  const bytes = joined(parts)
  const whole = new Uint8Array(aligned(bytes.length))
  whole.set(bytes)
  return whole
}

/** The largest f32 that rounds to a finite half. */
const largestHalf = 65_519.996

/** Converts numbers to f16 bits, rounding to nearest with ties to even. */
const halves = (values: Float32Array): Uint16Array => {
  const wide = new Float32Array(1)
  const bits = new Uint32Array(wide.buffer)
  return Uint16Array.from(values, (value) => {
    wide[0] = value
    const sign = ((bits[0] ?? 0) >>> 16) & 0x8000
    const size = (bits[0] ?? 0) & 0x7fffffff
    if (size >= 0x38800000) return sign | ((size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13)
    // Adding 0.5 makes the hardware round to the spacing of subnormal halves.
    wide[0] = Math.abs(value) + 0.5
    return sign | ((bits[0] ?? 0) - 0x3f000000)
  })
}

/** A tensor's values as bytes, zero-padded to the alignment; undefined if a value is NaN, infinite or too large for the type. */
export const padded = (type: TensorType, values: Float32Array): Uint8Array | undefined => {
  const isWithin = type === "F16"
    ? values.every((value) => Math.abs(value) <= largestHalf)
    : values.every((value) => Number.isFinite(value))
  if (!isWithin) return undefined
  const numbers = type === "F16" ? halves(values) : values
  const whole = new Uint8Array(aligned(numbers.byteLength))
  whole.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength))
  return whole
}
