/** A checkpoint of a service as a file. */
import { RunStore } from "@effect-rl/core"
import { AtomicFile, FileFailure } from "@effect-rl/files"
import { RestClient } from "@effect-rl/tinker"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Output } from "../terminal/Output.ts"
import * as Quantity from "../terminal/Quantity.ts"

/** Writes the tar of a checkpoint; a file of that name is replaced once all of it has come. */
export const download = Effect.fnUntraced(function*(path: string, file: string) {
  const output = yield* Output
  const rest = yield* RestClient.RestClient
  const read = yield* Ref.make(0)
  const bytes = Stream.tap(rest.downloadCheckpoint(path), ({ length }) =>
    Effect.flatMap(
      Ref.updateAndGet(read, (before) => before + length),
      (count) => output.live(`${Quantity.count(count)} bytes`)
    ))
  yield* Effect.catchTag(
    AtomicFile.write(file, bytes),
    "PlatformError",
    (error) => Effect.fail(new RunStore.RunError({ run: path, detail: FileFailure.describe(file, error) }))
  )
})
