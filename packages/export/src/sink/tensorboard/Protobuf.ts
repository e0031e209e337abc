/** The parts of the protobuf encoding that event files need. */

const varint = (value: number): ReadonlyArray<number> => {
  const bytes: Array<number> = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  return [...bytes, rest]
}

const join = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const joined = new Uint8Array(parts.reduce((size, { length }) => size + length, 0))
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

const encoder = new TextEncoder()

/** A varint field with a non-negative integer. */
export const whole = (field: number, value: number): Uint8Array =>
  Uint8Array.from([...varint(field << 3), ...varint(value)])

/** A field with a 64-bit float. */
export const double = (field: number, value: number): Uint8Array => {
  const bytes = new Uint8Array(9)
  bytes[0] = (field << 3) | 1
  new DataView(bytes.buffer).setFloat64(1, value, true)
  return bytes
}

/** A field with a 32-bit float. */
export const float = (field: number, value: number): Uint8Array => {
  const bytes = new Uint8Array(5)
  bytes[0] = (field << 3) | 5
  new DataView(bytes.buffer).setFloat32(1, value, true)
  return bytes
}

const delimited = (field: number, content: Uint8Array): Uint8Array =>
  join([Uint8Array.from([...varint((field << 3) | 2), ...varint(content.length)]), content])

/** A field with text. */
export const text = (field: number, value: string): Uint8Array => delimited(field, encoder.encode(value))

/** A field with an embedded message of the given fields. */
export const message = (field: number, fields: ReadonlyArray<Uint8Array>): Uint8Array => delimited(field, join(fields))

/** A top-level message of the given fields. */
export const encode = join
