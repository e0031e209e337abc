/** Typed arrays as base64 of their bytes, which preserves every bit. Bytes are little-endian, as on all supported machines. */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** `TextDecoder` exists in every supported runtime, but not in TypeScript's standard library. */
declare const TextDecoder: new() => { readonly decode: (bytes: Uint16Array) => string }

type Numbers = Int32Array | Float32Array | Uint8Array

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/** The two base64 characters for each 12-bit value, the first in the lower byte. */
const pairs = Uint16Array.from(
  { length: 4096 },
  (_, bits) => alphabet.charCodeAt(bits >> 6) | (alphabet.charCodeAt(bits & 63) << 8)
)

const padding = 0x3d
const decoder = new TextDecoder()

/** Reused buffer for encoded text, two characters per element; it grows as needed. */
let scratch = new Uint16Array(4096)

/** Fills `scratch` and returns the number of pairs. Encoding two characters at a time is several times faster than one. */
const fill = (bytes: Uint8Array): number => {
  const pairCount = 2 * Math.ceil(bytes.length / 3)
  if (pairCount > scratch.length) scratch = new Uint16Array(2 * pairCount)
  const whole = bytes.length - bytes.length % 3
  let at = 0
  for (let i = 0; i < whole; i += 3) {
    const bits = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    scratch[at++] = pairs[bits >> 12] ?? 0
    scratch[at++] = pairs[bits & 4095] ?? 0
  }
  if (whole < bytes.length) {
    const bits = ((bytes[whole] ?? 0) << 16) | ((bytes[whole + 1] ?? 0) << 8)
    const last = whole + 1 < bytes.length ? (pairs[bits & 4095] ?? 0) & 0xff : padding
    scratch[at++] = pairs[bits >> 12] ?? 0
    scratch[at++] = last | (padding << 8)
  }
  return at
}

/** Encodes the numbers from index `from` on, default 0. Returns an empty text if there are none. */
export const encode = ({ BYTES_PER_ELEMENT, buffer, byteLength, byteOffset }: Numbers, from = 0): string => {
  const skipped = from * BYTES_PER_ELEMENT
  if (skipped >= byteLength) return ""
  const length = fill(new Uint8Array(buffer, byteOffset + skipped, byteLength - skipped))
  return decoder.decode(scratch.subarray(0, length))
}

const bytesPerNumber = 4

const WholeNumbers = Schema.Uint8ArrayFromBase64.check(
  Schema.makeFilter((bytes: Uint8Array) => bytes.length % bytesPerNumber === 0, {
    expected: `base64 of whole numbers of ${bytesPerNumber} bytes`
  })
)

const schema = <A extends Numbers>(constructor: { new(bytes: ArrayBuffer): A }) =>
  WholeNumbers.pipe(Schema.decodeTo(
    Schema.instanceOf(constructor),
    SchemaTransformation.transform({
      decode: (bytes: Uint8Array) => new constructor(new Uint8Array(bytes).buffer),
      encode: (numbers: A) => new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
    })
  ))

/** A schema of 32-bit integers, such as token ids, as base64. */
export const int32 = schema<Int32Array>(Int32Array)

/** A schema of 32-bit floats, such as log-probabilities, as base64. Even the bits of NaNs are preserved. */
export const float32 = schema<Float32Array>(Float32Array)
