/** Parses a GGUF header from the file's first bytes. Every length is checked before it is used. */

/** A metadata value; 64-bit integers are rounded to the nearest number. */
export type Value = string | number | boolean | ReadonlyArray<Value>

export type Metadata = ReadonlyMap<string, Value>

export interface Entry {
  /** The dimensions, row length first as stored in the file. */
  readonly shape: ReadonlyArray<number>
  readonly typeId: number
  /** Byte offset from the start of the data. */
  readonly offset: number
}

export interface Header {
  readonly metadata: Metadata
  readonly tensors: ReadonlyMap<string, Entry>
  /** Byte offset of the data in the file. */
  readonly dataStart: number
}

export type Parsed =
  | { readonly _tag: "Parsed"; readonly header: Header }
  /** The header continues after these bytes. */
  | { readonly _tag: "Short" }
  | { readonly _tag: "Malformed"; readonly detail: string }

const magic = 0x46554747
const versions = [2, 3]
const mostDimensions = 4
const defaultAlignment = 32
const largestAlignment = 65_536
const deepestArray = 4

/** The largest accepted length of a metadata array; vocabularies have a few hundred thousand entries. */
const mostValues = 1 << 24

/** Names of the types that the engine does not read, for error messages. */
const otherTypes: ReadonlyMap<number, string> = new Map([
  [6, "Q5_0"],
  [7, "Q5_1"],
  [9, "Q8_1"],
  [10, "Q2_K"],
  [11, "Q3_K"],
  [13, "Q5_K"],
  [15, "Q8_K"],
  [16, "IQ2_XXS"],
  [17, "IQ2_XS"],
  [18, "IQ3_XXS"],
  [19, "IQ1_S"],
  [20, "IQ4_NL"],
  [21, "IQ3_S"],
  [22, "IQ2_S"],
  [23, "IQ4_XS"],
  [24, "I8"],
  [25, "I16"],
  [26, "I32"],
  [27, "I64"],
  [28, "F64"],
  [29, "IQ1_M"],
  [34, "TQ1_0"],
  [35, "TQ2_0"],
  [39, "MXFP4"]
])

export const typeName = (id: number): string => otherTypes.get(id) ?? `number ${id}`

/** Reads values in order. After the last byte or an error, the cursor reads nothing more and returns empty values. */
class Cursor {
  readonly bytes: Uint8Array
  readonly #view: DataView
  readonly #decoder = new TextDecoder()
  #values = 0
  position = 0
  isShort = false
  mistake: string | undefined

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isStopped() {
    return this.isShort || this.mistake !== undefined
  }

  fail(detail: string) {
    this.mistake ??= detail
  }

  /** The offset of the next `count` bytes; undefined if fewer are available. */
  #take(count: number): number | undefined {
    if (this.isStopped) return undefined
    if (!(count <= this.bytes.length - this.position)) {
      this.isShort = true
      return undefined
    }
    const start = this.position
    this.position += count
    return start
  }

  #number(size: number, read: (view: DataView, place: number) => number): number {
    const place = this.#take(size)
    return place === undefined ? 0 : read(this.#view, place)
  }

  u32() {
    return this.#number(4, (view, place) => view.getUint32(place, true))
  }

  u64() {
    return this.#number(8, (view, place) => Number(view.getBigUint64(place, true)))
  }

  string(): string {
    const length = this.u64()
    const start = this.#take(length)
    return start === undefined ? "" : this.#decoder.decode(this.bytes.subarray(start, start + length))
  }

  /** Reads a value of the type with this number. */
  value(type: number, depth = 0): Value {
    switch (type) {
      case 0:
        return this.#number(1, (view, place) => view.getUint8(place))
      case 1:
        return this.#number(1, (view, place) => view.getInt8(place))
      case 2:
        return this.#number(2, (view, place) => view.getUint16(place, true))
      case 3:
        return this.#number(2, (view, place) => view.getInt16(place, true))
      case 4:
        return this.u32()
      case 5:
        return this.#number(4, (view, place) => view.getInt32(place, true))
      case 6:
        return this.#number(4, (view, place) => view.getFloat32(place, true))
      case 7:
        return this.#number(1, (view, place) => view.getUint8(place)) !== 0
      case 8:
        return this.string()
      case 9:
        return this.#array(depth)
      case 10:
        return this.u64()
      case 11:
        return this.#number(8, (view, place) => Number(view.getBigInt64(place, true)))
      case 12:
        return this.#number(8, (view, place) => view.getFloat64(place, true))
      default:
        this.fail(`a value of its metadata has type ${type}, expected 0 to 12`)
        return 0
    }
  }

  #array(depth: number): ReadonlyArray<Value> {
    if (depth === deepestArray) this.fail(`its metadata has arrays inside arrays, more than ${deepestArray} deep`)
    const type = this.u32()
    const length = this.u64()
    this.#values += length
    if (this.#values > mostValues) this.fail(`its metadata has arrays of more than ${mostValues} values`)
    const values: Array<Value> = []
    for (let i = 0; i < length && !this.isStopped; i++) values.push(this.value(type, depth + 1))
    return values
  }
}

const readMetadata = (cursor: Cursor, count: number): Metadata => {
  const metadata = new Map<string, Value>()
  for (let i = 0; i < count && !cursor.isStopped; i++) {
    const key = cursor.string()
    metadata.set(key, cursor.value(cursor.u32()))
  }
  return metadata
}

const readTensors = (cursor: Cursor, count: number, alignment: number): ReadonlyMap<string, Entry> => {
  const tensors = new Map<string, Entry>()
  for (let i = 0; i < count && !cursor.isStopped; i++) {
    const name = cursor.string()
    const dimensions = cursor.u32()
    if (dimensions > mostDimensions) cursor.fail(`tensor ${name}: has ${dimensions} dimensions, expected at most 4`)
    const shape: Array<number> = []
    for (let d = 0; d < dimensions && !cursor.isStopped; d++) shape.push(cursor.u64())
    const typeId = cursor.u32()
    const offset = cursor.u64()
    if (cursor.isStopped) break
    if (tensors.has(name)) cursor.fail(`tensor ${name}: occurs twice`)
    if (offset % alignment !== 0) {
      cursor.fail(`tensor ${name}: starts at ${offset}, expected a multiple of ${alignment}`)
    }
    tensors.set(name, { shape, typeId, offset })
  }
  return tensors
}

const alignmentOf = (cursor: Cursor, metadata: Metadata): number => {
  const alignment = metadata.get("general.alignment") ?? defaultAlignment
  const isUsable = typeof alignment === "number" && Number.isInteger(alignment) &&
    alignment > 0 && alignment <= largestAlignment
  if (isUsable) return alignment
  cursor.fail(`general.alignment is ${String(alignment)}, expected a whole number from 1 to ${largestAlignment}`)
  return defaultAlignment
}

/** Parses the header from a file's first bytes. */
export const parse = (bytes: Uint8Array): Parsed => {
  const cursor = new Cursor(bytes)
  if (cursor.u32() !== magic && !cursor.isShort) return { _tag: "Malformed", detail: "is not a GGUF file" }
  const version = cursor.u32()
  if (!versions.includes(version) && !cursor.isShort) {
    return { _tag: "Malformed", detail: `is version ${version} of GGUF, expected ${versions.join(" or ")}` }
  }
  const tensorCount = cursor.u64()
  const metadata = readMetadata(cursor, cursor.u64())
  const alignment = alignmentOf(cursor, metadata)
  const tensors = readTensors(cursor, tensorCount, alignment)
  if (cursor.mistake !== undefined) return { _tag: "Malformed", detail: cursor.mistake }
  if (cursor.isShort) return { _tag: "Short" }
  const dataStart = Math.ceil(cursor.position / alignment) * alignment
  return { _tag: "Parsed", header: { metadata, tensors, dataStart } }
}
