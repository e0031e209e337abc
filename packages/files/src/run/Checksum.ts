/**
 * CRC-32 sums of a run's files, as eight hexadecimal digits: bytes that changed on disk are noticed before they are used.
 *
 * A record's line ends in the sum of everything before it in the file, earlier sums left out, so that it covers the line's place too: lines
 * that were swapped, repeated or taken from another file do not have the sums that they should have.
 */
import { crc32 } from "node:zlib"

const hexadecimal = (sum: number) => sum.toString(16).padStart(8, "0")

/** The sum of a payload. */
export const of = (payload: string | Uint8Array): string => hexadecimal(crc32(payload))

/** The sum of no lines. */
export const start = hexadecimal(0)

const ending = /^,"sum":"([0-9a-f]{8})"\}$/
const endingLength = `,"sum":"${start}"}`.length

/** The sum at the end of a line; undefined where it has none. */
export const read = (line: string): string | undefined => ending.exec(line.slice(-endingLength))?.[1]

const extend = (before: string, text: string) => hexadecimal(crc32(text, Number.parseInt(before, 16)))

/** The sum that a line should end in, after lines with the sum `before`. */
export const expected = (line: string, before: string): string => extend(before, line.slice(0, -endingLength))

/** A line that ends in its sum. */
export interface Sealed {
  readonly line: string
  readonly sum: string
}

/** Adds the sum to the JSON text of an object, after lines with the sum `before`. */
export const seal = (text: string, before: string): Sealed => {
  const open = text.slice(0, -1)
  const sum = extend(before, open)
  return { line: `${open},"sum":"${sum}"}`, sum }
}
