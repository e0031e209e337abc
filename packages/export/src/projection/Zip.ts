/** ZIP archives of small deflated files, without the ZIP64 extensions for more than 4 GB or 65,535 files. */
import { crc32, deflateRawSync } from "node:zlib"

interface Entry {
  readonly name: Uint8Array
  readonly crc: number
  readonly size: number
  readonly packed: Uint8Array
  readonly offset: number
}

const encoder = new TextEncoder()

/** Encodes little-endian fields of two or four bytes. */
const fields = (...values: ReadonlyArray<readonly [bytes: 2 | 4, value: number]>) => {
  const bytes = new Uint8Array(values.reduce((size, [width]) => size + width, 0))
  const view = new DataView(bytes.buffer)
  let offset = 0
  for (const [width, value] of values) {
    if (width === 2) view.setUint16(offset, value, true)
    else view.setUint32(offset, value, true)
    offset += width
  }
  return bytes
}

const version = 20
/** The flag that marks file names as UTF-8. */
const flags = 0x0800
const deflated = 8
/** 1980-01-01, the format's earliest date. A constant date makes archives of equal content equal. */
const day = 0x0021

const common = ({ crc, name, packed, size }: Entry) =>
  [
    [2, version],
    [2, flags],
    [2, deflated],
    [2, 0],
    [2, day],
    [4, crc],
    [4, packed.length],
    [4, size],
    [2, name.length],
    [2, 0]
  ] as const

const localHeader = (entry: Entry) => fields([4, 0x04034b50], ...common(entry))

const centralHeader = (entry: Entry) =>
  fields([4, 0x02014b50], [2, version], ...common(entry), [2, 0], [2, 0], [2, 0], [4, 0], [4, entry.offset])

/** Maximum number of files in an archive. */
export const mostFiles = 65_535

/** The archive's bytes, with the files in the given order. */
export const archive = (files: ReadonlyArray<readonly [name: string, content: string]>): ReadonlyArray<Uint8Array> => {
  const parts: Array<Uint8Array> = []
  const entries: Array<Entry> = []
  let offset = 0
  const add = (bytes: Uint8Array) => {
    parts.push(bytes)
    offset += bytes.length
  }
  for (const [name, content] of files) {
    const bytes = encoder.encode(content)
    const entry = {
      name: encoder.encode(name),
      crc: crc32(bytes),
      size: bytes.length,
      packed: deflateRawSync(bytes),
      offset
    }
    entries.push(entry)
    for (const part of [localHeader(entry), entry.name, entry.packed]) add(part)
  }
  const start = offset
  for (const entry of entries) for (const part of [centralHeader(entry), entry.name]) add(part)
  const count = entries.length
  add(fields([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, offset - start], [4, start], [2, 0]))
  return parts
}
