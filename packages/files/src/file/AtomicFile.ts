/** Files that are written completely or not at all. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"

/**
 * Writes a temporary file, syncs it, then renames it. After a failure the temporary file is removed and an older file stays.
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
