/** The checkpoints of a run, with the files that local backends keep in the run's folder. */
import { InvalidOption, RunStore } from "@effect-rl/core"
import { Story, StoryReader } from "@effect-rl/core/records"
import { FileFailure, RunDirectory } from "@effect-rl/files"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as RunFolder from "../train/RunFolder.ts"
import type * as Listing from "./Listing.ts"
import * as LocalAddress from "./LocalAddress.ts"

/** Whether the folder contains a run. */
export const isRun = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(fs.exists(path.join(folder, "records.jsonl")), () => false)
})

const saved = (run: string) => Effect.map(Effect.flatMap(RunDirectory.open(run), StoryReader.read), Story.checkpoints)

/** The folder to which a checkpoint's address points, whether or not it exists. Undefined if the address is not of a local backend. */
export const folderOf = Effect.fnUntraced(function*(run: string, address: string) {
  const path = yield* Path.Path
  const [, place] = /^\w+:\/\/([\w./-]+)$/.exec(address) ?? []
  if (!LocalAddress.isLocal(address) || place === undefined || place.includes("..")) return undefined
  return path.join(yield* RunFolder.checkpoints(run), ...place.split("/"))
})

/** Total bytes of a folder's files; undefined if the folder does not exist. */
const bytesIn = Effect.fnUntraced(function*(folder: string | undefined) {
  if (folder === undefined) return undefined
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = yield* fs.readDirectory(folder)
  const sizes = yield* Effect.forEach(
    names,
    (name) => Effect.map(fs.stat(path.join(folder, name)), ({ size }) => ByteSize.toNumberUnsafe(size))
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}, Effect.orElseSucceed(() => undefined))

/** The checkpoints that the run's records name, with the sizes of those that still exist. */
export const list = Effect.fnUntraced(function*(run: string) {
  const records = yield* saved(run)
  return yield* Effect.forEach(
    records,
    Effect.fnUntraced(function*({ at, expiresAt, kind, statePath }) {
      const folder = yield* folderOf(run, statePath)
      const bytes = yield* bytesIn(folder)
      const state = folder !== undefined && bytes === undefined ? "gone" : ""
      const line: Listing.Line = { path: statePath, kind, at, bytes, expiresAt, state }
      return line
    })
  )
})

const refused = (found: string, expected: string) => new InvalidOption.InvalidOption({ field: "path", found, expected })

/**
 * Deletes a checkpoint's training weights and sampler weights. The newest checkpoint is kept, because the run could not resume without it.
 */
export const remove = Effect.fnUntraced(function*(run: string, address: string) {
  const fs = yield* FileSystem.FileSystem
  const records = yield* saved(run)
  const record = records.find(({ samplerPath, statePath }) => address === statePath || address === samplerPath)
  if (record === undefined) {
    return yield* refused(
      `"${address}"`,
      `a checkpoint of ${run}: ${records.map(({ statePath }) => statePath).join(", ")}`
    )
  }
  if (record === records.at(-1)) {
    return yield* refused(`"${address}"`, "a checkpoint other than the newest, from which the run would resume")
  }
  for (const path of [record.statePath, record.samplerPath]) {
    if (path === null) continue
    const folder = yield* folderOf(run, path)
    if (folder === undefined) {
      return yield* refused(`"${path}"`, "a checkpoint on this machine; without --run, one of a service is deleted")
    }
    yield* Effect.mapError(
      fs.remove(folder, { recursive: true, force: true }),
      (error) => new RunStore.RunError({ run, detail: FileFailure.describe(folder, error) })
    )
  }
})
