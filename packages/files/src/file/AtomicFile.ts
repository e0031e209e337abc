/** Writes files completely or not at all. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"

/**
 * Writes and syncs a temporary file, then renames it. Creates missing parent folders. On failure, the temporary file is removed and an
 * existing file stays unchanged.
 *
 * @example
 * AtomicFile.write("report.txt", Stream.make("reward 0.9\n").pipe(Stream.encodeText))
 */
export const write = Effect.fnUntraced(function*<E, R>(file: string, content: Stream.Stream<Uint8Array, E, R>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.dirname(file)
  yield* fs.makeDirectory(folder, { recursive: true })
  const partial = path.join(
    yield* fs.makeTempDirectoryScoped({ directory: folder, prefix: ".partial-" }),
    path.basename(file)
  )
  yield* Effect.scoped(Effect.gen(function*() {
    const handle = yield* fs.open(partial, { flag: "w" })
    yield* Stream.runForEach(content, (bytes) => handle.writeAll(bytes))
    yield* handle.sync
  }))
  yield* fs.rename(partial, file)
}, Effect.scoped)
