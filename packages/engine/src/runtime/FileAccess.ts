/** Captures a layer's file services for calls that are made after the layer was built. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"

/**
 * A context with only the file system and the path service: the rest of the layer's context, such as its scope, must
 * not leak to callers.
 */
export const context = Effect.gen(function*() {
  return Context.make(FileSystem.FileSystem, yield* FileSystem.FileSystem).pipe(
    Context.add(Path.Path, yield* Path.Path)
  )
})
