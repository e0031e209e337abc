/** Writes JSON text with lists of token ids as bytes. */

/** Maximum number of characters per id: -2147483648 and the comma after it. */
const widest = 12

const encoder = new TextEncoder()

/** Writes the digits of an integer, and returns the position after them. */
const writeDigits = (bytes: Uint8Array, at: number, value: number) => {
  let left = value
  let end = at + 1
  for (let bound = 10; bound <= value; bound *= 10) end++
  for (let index = end - 1; index >= at; index--) {
    const rest = Math.floor(left / 10)
    bytes[index] = 48 + left - rest * 10
    left = rest
  }
  return end
}

const writeTokens = (bytes: Uint8Array, start: number, tokens: Int32Array) => {
  let at = start
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] ?? 0
    if (index > 0) bytes[at++] = 44
    if (token < 0) bytes[at++] = 45
    at = writeDigits(bytes, at, Math.abs(token))
  }
  return at
}

/** Concatenates the parts in order; ids get no brackets. A long prompt is written once, without an intermediate number array. */
export const encode = (parts: ReadonlyArray<string | Int32Array>): Uint8Array => {
  const most = parts.reduce((size, part) => size + part.length * (typeof part === "string" ? 3 : widest), 0)
  const bytes = new Uint8Array(most)
  let at = 0
  for (const part of parts) {
    at = typeof part === "string"
      ? at + encoder.encodeInto(part, bytes.subarray(at)).written
      : writeTokens(bytes, at, part)
  }
  return bytes.slice(0, at)
}
