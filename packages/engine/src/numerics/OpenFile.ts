/** A tensor file that is open for reading. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"

export interface OpenFile<E> {
  /** Size of the file in bytes. */
  readonly bytes: number
  /** Fills `into` with the bytes from `position` on. Fails if the file ends earlier. */
  readonly fill: (position: number, into: Uint8Array) => Effect.Effect<void, E>
}

/** Opens a file until the scope closes. `fail` creates the error of the file's format. */
export const open = Effect.fnUntraced(function*<E>(file: string, fail: (detail: string) => E) {
  const fs = yield* FileSystem.FileSystem
  const asError = (error: PlatformError) => fail(error.message)
  const handle = yield* Effect.mapError(fs.open(file), asError)
  const { size } = yield* Effect.mapError(handle.stat, asError)
  const fill = Effect.fnUntraced(function*(position: number, into: Uint8Array) {
    let done = 0
    while (done < into.length) {
      const start = position + done
      const read = handle.read(into.subarray(done), { position: BigInt(start) })
      const count = yield* Effect.mapError(read, asError)
      if (count === 0) return yield* Effect.fail(fail(`the file ends at byte ${start}`))
      done += count
    }
  })
  return { bytes: Number(size), fill } satisfies OpenFile<E>
})
