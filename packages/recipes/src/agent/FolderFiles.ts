/** The files of a local folder, copied into each sandbox. */
import { SandboxFiles } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"

/** The folder cannot be copied. */
export class FolderError extends Schema.TaggedError<FolderError>()("FolderError", {
  folder: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `the folder ${this.folder} cannot be copied: ${this.detail}`
  }
}

const mebibyte = 1024 * 1024

/** Limits on the folder's size, because every episode gets a copy. */
const most = { files: 5000, bytes: 64 * mebibyte }

const isHistory = (name: string) => name.split("/", 1)[0] === ".git"

/**
 * All files below the folder except those in `.git`. Links to folders are not followed. Fails if there are more than 5000 files or 64 MiB,
 * or if a file cannot be read.
 */
export const read = Effect.fn("FolderFiles.read")(
  function*(folder: string) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const contents: Record<string, Uint8Array> = {}
    let [files, bytes] = [0, 0]
    for (const name of yield* fs.readDirectory(folder, { recursive: true })) {
      const file = join(folder, name)
      const { size, type } = yield* fs.stat(file)
      if (isHistory(name) || type !== "File") continue
      bytes += Number(size)
      if (++files > most.files || bytes > most.bytes) {
        const expected = `at most ${most.files} files with ${most.bytes / mebibyte} MiB`
        return yield* new FolderError({ folder, detail: `it has more, expected ${expected}: bundle the agent` })
      }
      contents[name] = yield* fs.readFile(file)
    }
    return SandboxFiles.make(contents)
  },
  (effect, folder) =>
    Effect.catchTag(effect, "PlatformError", ({ message }) => Effect.fail(new FolderError({ folder, detail: message })))
)
