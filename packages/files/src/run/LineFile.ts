/** An append-only file of lines, accessed by byte offset. A line exists once its line end is written. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"

const newline = 0x0a
const chunkBytes = 262_144
const noBytes = new Uint8Array(0)

/** Converts numbers that JSON cannot represent; `JSON.stringify` would write them as null. */
const withText = (_: string, value: unknown) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value

/**
 * Writes a value as one line of JSON. NaN and the infinities become strings, which `RunRecord.codec` reads. The slow replacer runs only if
 * the plain text contains null, which most records do not.
 */
export const stringify = (value: object): string => {
  const text = JSON.stringify(value)
  return text.includes("null") ? JSON.stringify(value, withText) : text
}

export const sizeOf = ({ size }: FileSystem.File.Info): number => ByteSize.toNumberUnsafe(size)

/** A range of bytes. */
export interface Range {
  readonly offset: number
  readonly length: number
}

/** The bytes of the range; fewer if the file ends inside it. */
export const readBytes = (
  handle: FileSystem.File,
  { length, offset }: Range
): Effect.Effect<Uint8Array, PlatformError> =>
  Effect.map(handle.readAlloc(length, { position: BigInt(offset) }), Option.getOrElse(() => noBytes))

/** The number of bytes up to and including the last line end. The bytes after it are an incomplete line, left by a crash. */
const completeBytes = Effect.fnUntraced(function*(handle: FileSystem.File) {
  let end = sizeOf(yield* handle.stat)
  while (end > 0) {
    const offset = Math.max(0, end - chunkBytes)
    const last = (yield* readBytes(handle, { offset, length: end - offset })).lastIndexOf(newline)
    if (last >= 0) return offset + last + 1
    end = offset
  }
  return 0
})

/** Complete lines, and the offset after them. */
export interface Lines {
  readonly lines: ReadonlyArray<string>
  readonly end: number
}

/** Reads complete lines from `offset` on: at least one line if a complete line follows, but not necessarily all of them. */
export const readLines = Effect.fnUntraced(function*(handle: FileSystem.File, offset: number) {
  const written = sizeOf(yield* handle.stat) - offset
  for (let length = chunkBytes; written > 0; length *= 2) {
    const bytes = yield* readBytes(handle, { offset, length: Math.min(length, written) })
    const size = bytes.lastIndexOf(newline) + 1
    if (size > 0) {
      const lines = new TextDecoder().decode(bytes.subarray(0, size - 1)).split("\n")
      return { lines, end: offset + size } satisfies Lines
    }
    if (bytes.length < length) break
  }
  return { lines: [], end: offset } satisfies Lines
})

/** Appends lines to a file. */
export interface Appender {
  /** Appends one line and returns the byte range of its text. A failed write leaves no part of the line. */
  readonly append: (text: string) => Effect.Effect<Range, PlatformError>
  /** Flushes everything that was appended to disk. */
  readonly sync: Effect.Effect<void, PlatformError>
  /** Extends the file to at least this length, filling a lost part with zeros. Returns the number of bytes added. */
  readonly extend: (length: number) => Effect.Effect<number, PlatformError>
}

/** Opens a file for appending, creates it if necessary, and removes an incomplete last line. Only one writer at a time is allowed. */
export const appender = Effect.fnUntraced(
  function*(file: string): Effect.fn.Return<Appender, PlatformError, FileSystem.FileSystem | Scope.Scope> {
    const fs = yield* FileSystem.FileSystem
    const handle = yield* fs.open(file, { flag: "a+" })
    const encoder = new TextEncoder()
    const end = yield* Ref.make(yield* completeBytes(handle))
    // True while the file may have bytes beyond `end`. A truncation that failed is repeated before the next write.
    const isTorn = yield* Ref.make(sizeOf(yield* handle.stat) > (yield* Ref.get(end)))
    const cut = Effect.gen(function*() {
      if (!(yield* Ref.get(isTorn))) return
      yield* handle.truncate(yield* Ref.get(end))
      yield* Ref.set(isTorn, false)
    })
    yield* cut
    return {
      append: Effect.fnUntraced(function*(text) {
        yield* cut
        const offset = yield* Ref.get(end)
        const bytes = encoder.encode(`${text}\n`)
        yield* Ref.set(isTorn, true)
        yield* Effect.tapError(handle.writeAll(bytes), () => Effect.ignore(cut))
        yield* Ref.set(isTorn, false)
        yield* Ref.set(end, offset + bytes.length)
        return { offset, length: bytes.length - 1 }
      }, Effect.uninterruptible),
      sync: handle.sync,
      extend: Effect.fnUntraced(function*(length) {
        const missing = length - (yield* Ref.get(end))
        if (missing <= 0) return 0
        yield* handle.truncate(length)
        yield* Ref.set(end, length)
        return missing
      })
    }
  }
)
