/** Sinks that append text or bytes to a file. */
import { FileFailure } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import { SinkError } from "./Sink.ts"

export type Files = FileSystem.FileSystem | Path.Path

/** Converts a file error to the sink's error, which names the file. */
export const failing = (sink: string, file: string) => <A, R>(effect: Effect.Effect<A, PlatformError, R>) =>
  Effect.mapError(effect, (error) => new SinkError({ sink, detail: FileFailure.describe(file, error) }))

/** Whether the file does not exist yet. */
export const isNew = Effect.fnUntraced(function*(sink: string, file: string) {
  const fs = yield* FileSystem.FileSystem
  return !(yield* failing(sink, file)(fs.exists(file)))
})

/** Makes a function that appends bytes to a file. The file and its folder are created if necessary. */
export const appender = Effect.fnUntraced(function*(
  sink: string,
  file: string
): Effect.fn.Return<(bytes: Uint8Array) => Effect.Effect<void, SinkError>, SinkError, Files | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* failing(sink, file)(fs.makeDirectory(path.dirname(file), { recursive: true }))
  const handle = yield* failing(sink, file)(fs.open(file, { flag: "a" }))
  return (bytes) => failing(sink, file)(handle.writeAll(bytes))
})

const encoder = new TextEncoder()

/** Makes a function that appends text to a file. */
export const texts = Effect.fnUntraced(function*(sink: string, file: string) {
  const append = yield* appender(sink, file)
  return (text: string) => text === "" ? Effect.void : append(encoder.encode(text))
})
