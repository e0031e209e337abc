/** Files that a command writes and that must not exist before. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"

/** Fails if the file exists. `field` is the flag or argument that names the file, for the error message. */
export const check = Effect.fnUntraced(function*(field: string, file: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) return
  return yield* new InvalidOption.InvalidOption({ field, found: `${file}, which exists`, expected: "a new file" })
})
