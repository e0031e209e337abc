/** Writes files and folders completely or not at all. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as PlatformError from "effect/PlatformError"
import * as Stream from "effect/Stream"

/**
 * Writes a file or a folder at a temporary path and then renames it to `target`, which must not be a folder with entries. Creates missing
 * parent folders. On failure and on interruption, what was written is removed, and `target` stays unchanged.
 */
export const aside = Effect.fnUntraced(
  function*<A, E, R>(target: string, write: (partial: string) => Effect.Effect<A, E, R>) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = path.dirname(target)
    yield* fs.makeDirectory(folder, { recursive: true })
    const partial = path.join(
      yield* fs.makeTempDirectoryScoped({ directory: folder, prefix: ".partial-" }),
      path.basename(target)
    )
    const written = yield* write(partial)
    yield* fs.rename(partial, target)
    return written
  },
  Effect.scoped
)

/** Like `aside`, but fails before writing if `target` exists. */
export const create = Effect.fnUntraced(
  function*<A, E, R>(target: string, write: (partial: string) => Effect.Effect<A, E, R>) {
    const fs = yield* FileSystem.FileSystem
    if (yield* fs.exists(target)) {
      return yield* PlatformError.systemError({
        _tag: "AlreadyExists",
        module: "AtomicFile",
        method: "create",
        pathOrDescriptor: target
      })
    }
    return yield* aside(target, write)
  }
)

/**
 * Writes and syncs a temporary file, then renames it. Creates missing parent folders. On failure, the temporary file is removed and an
 * existing file stays unchanged.
 *
 * @example
 * AtomicFile.write("report.txt", Stream.make("reward 0.9\n").pipe(Stream.encodeText))
 */
export const write = <E, R>(file: string, content: Stream.Stream<Uint8Array, E, R>) =>
  aside(
    file,
    Effect.fnUntraced(function*(partial) {
      const fs = yield* FileSystem.FileSystem
      const handle = yield* fs.open(partial, { flag: "w" })
      yield* Stream.runForEach(content, (bytes) => handle.writeAll(bytes))
      yield* handle.sync
    }, Effect.scoped)
  )
