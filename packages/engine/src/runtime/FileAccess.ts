/** The file services of a layer, for calls that are made after it was built. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"

/** These two alone: the rest of a layer's context, such as its scope, is not the caller's. */
export const context = Effect.gen(function*() {
  return Context.make(FileSystem.FileSystem, yield* FileSystem.FileSystem).pipe(
    Context.add(Path.Path, yield* Path.Path)
  )
})
