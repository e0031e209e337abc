/**
 * Frames exchanged with the Python process. A frame has two little-endian 32-bit numbers, the byte lengths of a JSON header and of a body,
 * followed by the header and the body. The header's `arrays` describes the arrays in the body, in order.
 */

/** 32-bit arrays by name. */
export type Arrays = Readonly<Record<string, Int32Array | Float32Array>>

/** A JSON object with arrays. */
export interface Frame {
  readonly header: Readonly<Record<string, unknown>>
  readonly arrays: Arrays
}

const prefix = 8

const textDecoder = new TextDecoder()

/** The largest header length. A larger number means that text was printed between frames and read as a length. */
const mostHeader = 2 ** 26

/** The bytes of a frame. */
export const encode = ({ arrays, header }: Frame): Uint8Array => {
  const entries = Object.entries(arrays)
  const kinds = entries.map(([name, values]) => [name, values instanceof Int32Array ? "i" : "f", values.length])
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: kinds }))
  const body = entries.reduce((bytes, [, { byteLength }]) => bytes + byteLength, 0)
  const frame = new Uint8Array(prefix + text.length + body)
  const lengths = new DataView(frame.buffer)
  lengths.setUint32(0, text.length, true)
  lengths.setUint32(4, body, true)
  frame.set(text, prefix)
  let at = prefix + text.length
  for (const [, { buffer, byteLength, byteOffset }] of entries) {
    frame.set(new Uint8Array(buffer, byteOffset, byteLength), at)
    at += byteLength
  }
  return frame
}

type Kinds = ReadonlyArray<readonly [name: string, kind: "i" | "f", length: number]>

const decode = (text: Uint8Array, body: Uint8Array): Frame => {
  const { arrays: kinds, ...header }: { readonly arrays: Kinds } = JSON.parse(textDecoder.decode(text))
  // A copy, because a typed array must start at a multiple of four bytes and `slice` of a Node buffer does not copy.
  const { buffer } = new Uint8Array(body)
  let at = 0
  const arrays = kinds.map(([name, kind, length]) => {
    const values = kind === "i" ? new Int32Array(buffer, at, length) : new Float32Array(buffer, at, length)
    at += values.byteLength
    return [name, values] as const
  })
  return { header, arrays: Object.fromEntries(arrays) }
}

/** Received bytes that do not yet form a frame. */
export interface Rest {
  readonly pieces: ReadonlyArray<Uint8Array>
  readonly length: number
}

/** The state before the first byte arrives. */
export const nothing: Rest = { pieces: [], length: 0 }

const joined = ({ length, pieces }: Rest) => {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

/** The length of the first frame in bytes, or of its prefix until the prefix is complete. Throws if the header is too long. */
const needed = (rest: Rest) => {
  const [first] = rest.pieces
  if (rest.length < prefix || first === undefined) return prefix
  const start = first.length < prefix ? joined(rest) : first
  const lengths = new DataView(start.buffer, start.byteOffset, prefix)
  const header = lengths.getUint32(0, true)
  if (header > mostHeader) throw new Error(textDecoder.decode(joined(rest).subarray(0, 200)).trim())
  return prefix + header + lengths.getUint32(4, true)
}

/**
 * Adds a piece and returns the completed frames and the remaining bytes. Pieces are joined once per completed frame, not for every piece.
 * Throws if the bytes are not a frame.
 */
export const next = (rest: Rest, piece: Uint8Array): readonly [rest: Rest, frames: ReadonlyArray<Frame>] => {
  const all: Rest = { pieces: [...rest.pieces, piece], length: rest.length + piece.length }
  if (all.length < needed(all)) return [all, []]
  let bytes = joined(all)
  const frames: Array<Frame> = []
  while (bytes.length >= prefix) {
    const end = needed({ pieces: [bytes], length: bytes.length })
    if (bytes.length < end) break
    const headerEnd = prefix + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
    frames.push(decode(bytes.subarray(prefix, headerEnd), bytes.subarray(headerEnd, end)))
    bytes = bytes.subarray(end)
  }
  return [bytes.length === 0 ? nothing : { pieces: [bytes], length: bytes.length }, frames]
}
