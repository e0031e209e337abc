/** LiveCodeBench's private tests: a JSON text, pickled in Python, compressed with zlib and encoded in base64. */
import * as Option from "effect/Option"
import { inflateSync } from "node:zlib"

/** The most bytes of uncompressed tests. The longest published tests have about 100 million characters. */
const longest = 512 * 1024 * 1024

const inflate = Option.liftThrowable((packed: string) =>
  inflateSync(Buffer.from(packed, "base64"), { maxOutputLength: longest })
)

/**
 * Pickle opcodes that may precede the text, with the size of their argument; then the opcodes of a text, with the size of its length field.
 */
const skipped: Readonly<Record<number, number>> = { 0x80: 1, 0x95: 8 }
const texts: Readonly<Record<number, number>> = { 0x8c: 1, 0x58: 4, 0x8d: 8 }

/** The pickled text. No other value is read, and nothing is executed. */
const pickledText = (bytes: Buffer): Option.Option<string> => {
  let position = 0
  while (position < bytes.length) {
    const operation = bytes[position++] ?? 0
    const width = texts[operation]
    if (width !== undefined) {
      if (position + width > bytes.length) return Option.none()
      const length = bytes.readUIntLE(position, Math.min(width, 6))
      const start = position + width
      return start + length > bytes.length ? Option.none() : Option.some(bytes.toString("utf8", start, start + length))
    }
    const skip = skipped[operation]
    if (skip === undefined) return Option.none()
    position += skip
  }
  return Option.none()
}

/**
 * The JSON in packed tests, or none if the text is not in the packed format or unpacks to more than 512 MiB.
 *
 * @example
 * const json = PackedTests.unpack("eJxrYJnKxgABPUzRsVP0ABkLAyg=") // Option.some("[]")
 */
export const unpack = (packed: string): Option.Option<string> =>
  /^\s*[[{]/.test(packed) ? Option.none() : Option.flatMap(inflate(packed), pickledText)
