/**
 * CRC-32 checksums of a run's files, written as eight hexadecimal digits. They detect corruption before the data are used.
 * A record's line ends with the checksum of everything before it in the file except earlier checksums. The checksum thus covers the line's
 * position as well: lines that were swapped, repeated or copied from another file fail the check.
 */
import { crc32 } from "node:zlib"

const hexadecimal = (sum: number) => sum.toString(16).padStart(8, "0")

/** The checksum of a payload. */
export const of = (payload: string | Uint8Array): string => hexadecimal(crc32(payload))

/** The checksum before the first line. */
export const start = hexadecimal(0)

const ending = /^,"sum":"([0-9a-f]{8})"\}$/
const endingLength = `,"sum":"${start}"}`.length

/** The checksum at the end of a line; undefined if it has none. */
export const read = (line: string): string | undefined => ending.exec(line.slice(-endingLength))?.[1]

const extend = (before: string, text: string) => hexadecimal(crc32(text, Number.parseInt(before, 16)))

/** The checksum that a line should end with, if the lines before it have the checksum `before`. */
export const expected = (line: string, before: string): string => extend(before, line.slice(0, -endingLength))

/** A line that ends with its checksum. */
export interface Sealed {
  readonly line: string
  readonly sum: string
}

/** Adds the checksum to a JSON object's text, if the lines before it have the checksum `before`. */
export const seal = (text: string, before: string): Sealed => {
  const open = text.slice(0, -1)
  const sum = extend(before, open)
  return { line: `${open},"sum":"${sum}"}`, sum }
}
