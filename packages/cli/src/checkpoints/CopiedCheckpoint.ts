/** Copies an engine checkpoint from its run's folder to another process's folder, so that process does not depend on the run. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as NamedCheckpoint from "./NamedCheckpoint.ts"
import * as RunCheckpoints from "./RunCheckpoints.ts"

/** The copy's folder name, `<run>-<iteration>-<digest>`. Equal checkpoints share a name; different checkpoints do not. */
const idOf = (run: string, { iteration, stateDigest = "" }: NamedCheckpoint.NamedCheckpoint["saved"]) =>
  [run.replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, ""), iteration, stateDigest.slice(0, 8)].join("-")

/** Copies the files at one of a checkpoint's addresses into `checkpoints`, unless they exist there. Returns `<folder>/<kind>/<name>`. */
export const copy = Effect.fnUntraced(function*(
  { run, saved }: NamedCheckpoint.NamedCheckpoint,
  address: string,
  checkpoints: string
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const from = yield* RunCheckpoints.folderOf(run, address)
  const [, kind = "", name = ""] = /\/([^/]+)\/([^/]+)$/.exec(address) ?? []
  const id = idOf(path.basename(path.resolve(run)), saved)
  const to = path.join(checkpoints, id, kind, name)
  if (from !== undefined && !(yield* fs.exists(to))) {
    const partial = path.join(checkpoints, id, kind, `.${name}.partial`)
    yield* fs.remove(partial, { recursive: true, force: true })
    yield* fs.makeDirectory(path.dirname(to), { recursive: true })
    yield* fs.copy(from, partial)
    yield* fs.rename(partial, to)
  }
  return `${id}/${kind}/${name}`
})
