/** An append-only file of lines, read and written by byte position. A line counts once its line end is written. */
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

/** JSON cannot hold these numbers and would silently write null. */
const withText = (_: string, value: unknown) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value

/**
 * JSON text on one line; NaN and the infinities become strings, as `RunRecord.codec` reads them. The replacer takes most of the
 * time, and most records have no null that it could have prevented.
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

/** The bytes of the range, fewer where the file ends in it. */
export const readBytes = (
  handle: FileSystem.File,
  { length, offset }: Range
): Effect.Effect<Uint8Array, PlatformError> =>
  Effect.map(handle.readAlloc(length, { position: BigInt(offset) }), Option.getOrElse(() => noBytes))

/** Number of bytes up to and including the last line end; a line after it was cut by a crash. */
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

/** Whole lines, and where the next one begins. */
export interface Lines {
  readonly lines: ReadonlyArray<string>
  readonly end: number
}

/** Some of the whole lines from `offset` on; empty where no whole line follows. */
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

/** Writes lines at the end of a file. */
export interface Appender {
  /** Writes one line and returns the range of its text. A write that fails leaves no part of the line. */
  readonly append: (text: string) => Effect.Effect<Range, PlatformError>
  /** Forces everything that was appended to the disk. */
  readonly sync: Effect.Effect<void, PlatformError>
  /** Makes the file at least this long; a part that was lost is filled with zeros. Returns the number of bytes added. */
  readonly extend: (length: number) => Effect.Effect<number, PlatformError>
}

/** Opens a file for appending, creates it where it does not exist, and cuts a torn last line. Only one writer at a time is allowed. */
export const appender = Effect.fnUntraced(
  function*(file: string): Effect.fn.Return<Appender, PlatformError, FileSystem.FileSystem | Scope.Scope> {
    const fs = yield* FileSystem.FileSystem
    const handle = yield* fs.open(file, { flag: "a+" })
    const encoder = new TextEncoder()
    const end = yield* Ref.make(yield* completeBytes(handle))
    // True while bytes beyond `end` may be in the file: a cut that failed is done before the next write.
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
