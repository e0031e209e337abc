/** Archives in the ustar format. */
import * as Stream from "effect/Stream"

export interface File<E> {
  readonly name: string
  readonly size: number
  readonly modifiedSeconds: number
  readonly content: Stream.Stream<Uint8Array, E>
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

/** Bytes of the archive of files of these sizes. */
export const size = (files: ReadonlyArray<{ readonly size: number }>): number =>
  files.reduce((total, { size }) => total + block + size + padding(size), 2 * block)

/** The archive, file after file; names have at most 100 bytes. */
export const stream = <E>(files: ReadonlyArray<File<E>>): Stream.Stream<Uint8Array, E> =>
  Stream.fromIterable(files).pipe(
    Stream.flatMap((file) =>
      Stream.succeed(header(file)).pipe(
        Stream.concat(file.content),
        Stream.concat(Stream.succeed(new Uint8Array(padding(file.size))))
      )
    ),
    Stream.concat(Stream.succeed(new Uint8Array(2 * block)))
  )
