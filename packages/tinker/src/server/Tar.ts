/** Archives in the ustar format. */
import * as Stream from "effect/Stream"
import type { Range } from "./Range.ts"

export interface File<E> {
  readonly name: string
  readonly size: number
  readonly modifiedSeconds: number
  readonly content: (range: Range) => Stream.Stream<Uint8Array, E>
}

/** A part of an archive. */
interface Piece<E> {
  readonly size: number
  readonly read: (range: Range) => Stream.Stream<Uint8Array, E>
}

const block = 512

const padding = (size: number) => (block - size % block) % block

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0")

const header = ({ modifiedSeconds, name, size }: File<unknown>): Uint8Array => {
  const bytes = new Uint8Array(block)
  const write = (text: string, at: number) => bytes.set(new TextEncoder().encode(text), at)
  write(name, 0)
  write(octal(0o644, 7), 100)
  write(octal(0, 7), 108)
  write(octal(0, 7), 116)
  write(octal(size, 11), 124)
  write(octal(modifiedSeconds, 11), 136)
  write("        0", 148)
  write("ustar\x0000", 257)
  const sum = bytes.reduce((sum, byte) => sum + byte, 0)
  write(`${octal(sum, 6)}\0 `, 148)
  return bytes
}

const fixed = (bytes: Uint8Array): Piece<never> => ({
  size: bytes.length,
  read: ({ end, start }) => Stream.succeed(bytes.subarray(start, end))
})

const pieces = <E>(files: ReadonlyArray<File<E>>): ReadonlyArray<Piece<E>> => [
  ...files.flatMap((file) => [
    fixed(header(file)),
    { size: file.size, read: file.content },
    fixed(new Uint8Array(padding(file.size)))
  ]),
  fixed(new Uint8Array(2 * block))
]

/** The archive size in bytes for files of these sizes. */
export const size = (files: ReadonlyArray<{ readonly size: number }>): number =>
  files.reduce((total, { size }) => total + block + size + padding(size), 2 * block)

/** Streams a range of the archive. File names may have at most 100 bytes. */
export const stream = <E>(files: ReadonlyArray<File<E>>, { end, start }: Range): Stream.Stream<Uint8Array, E> => {
  let at = 0
  const parts = pieces(files).flatMap(({ read, size }) => {
    const range = { start: Math.max(start - at, 0), end: Math.min(end - at, size) }
    at += size
    return range.start < range.end ? [read(range)] : []
  })
  return Stream.flatten(Stream.fromIterable(parts))
}
