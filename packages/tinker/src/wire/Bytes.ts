/** Little-endian arrays in byte payloads, which may start at any offset of their buffer. */
import * as Result from "effect/Result"

const bytesOf = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

/** The bytes of an array without a copy. All supported platforms are little-endian. */
export const of = (array: Int32Array | Float32Array | BigInt64Array): Uint8Array => bytesOf(array)

/** Encodes integers as int64. */
export const int64 = (values: Int32Array): Uint8Array => {
  const halves = new Int32Array(values.length * 2)
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0
    halves[2 * index] = value
    halves[2 * index + 1] = value >> 31
  }
  return bytesOf(halves)
}

/** Encodes integers of up to 64 bits as int64. */
export const integers = (values: ReadonlyArray<number | bigint>): Uint8Array => {
  const halves = new Int32Array(values.length * 2)
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0
    const isLarge = typeof value === "bigint"
    halves[2 * index] = isLarge ? Number(BigInt.asIntN(32, value)) : value
    halves[2 * index + 1] = isLarge ? Number(BigInt.asIntN(32, value >> 32n)) : Math.floor(value / 2 ** 32)
  }
  return bytesOf(halves)
}

export const floats = (values: ReadonlyArray<number | bigint>): Uint8Array => {
  const narrow = new Float32Array(values.length)
  for (let index = 0; index < values.length; index++) narrow[index] = Number(values[index])
  return bytesOf(narrow)
}

/** A copy that starts at an aligned offset. Fails if the length is not a multiple of `size`. */
const aligned = (bytes: Uint8Array, size: number): Result.Result<ArrayBuffer, string> =>
  bytes.length % size === 0
    ? Result.succeed(new Uint8Array(bytes).buffer)
    : Result.fail(`${bytes.length} bytes, expected a multiple of ${size}`)

export const toInt32 = (bytes: Uint8Array): Result.Result<Int32Array, string> =>
  Result.map(aligned(bytes, 4), (buffer) => new Int32Array(buffer))

export const toFloat32 = (bytes: Uint8Array): Result.Result<Float32Array, string> =>
  Result.map(aligned(bytes, 4), (buffer) => new Float32Array(buffer))

export const toInt64 = (bytes: Uint8Array): Result.Result<BigInt64Array, string> =>
  Result.map(aligned(bytes, 8), (buffer) => new BigInt64Array(buffer))

/** Decodes bfloat16, the upper half of a float32. */
export const toBfloat16 = (bytes: Uint8Array): Result.Result<Float32Array, string> =>
  Result.map(
    aligned(bytes, 2),
    (buffer) => new Float32Array(Uint32Array.from(new Uint16Array(buffer), (half) => half << 16).buffer)
  )

/** Decodes int64 token ids to int32. Fails if an id does not fit into 32 bits. */
export const toTokens = (bytes: Uint8Array): Result.Result<Int32Array, string> =>
  Result.flatMap(aligned(bytes, 8), (buffer) => {
    const halves = new Int32Array(buffer)
    const tokens = new Int32Array(halves.length / 2)
    for (let index = 0; index < tokens.length; index++) {
      const low = halves[2 * index] ?? 0
      if (halves[2 * index + 1] !== low >> 31) {
        const [sent] = new BigInt64Array(buffer, 8 * index, 1)
        return Result.fail(`data[${index}] is ${sent}, expected an id of a token, which has 32 bits`)
      }
      tokens[index] = low
    }
    return Result.succeed(tokens)
  })
