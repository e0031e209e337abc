/** The folder of a seed sweep, which contains one run per seed. */
import { RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"

const prefix = "seed-"

/** The folder of a seed's run. */
export const seed = Effect.fnUntraced(function*(folder: string, seed: number) {
  return (yield* Path.Path).join(folder, `${prefix}${seed}`)
})

const seedOf = (name: string) => name.startsWith(prefix) ? Number(name.slice(prefix.length)) : NaN

/** The folders of a sweep's runs in seed order, or the folder itself if it contains a run. Fails if it is neither. */
export const seeds = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (yield* Effect.orElseSucceed(fs.exists(path.join(folder, "records.jsonl")), () => false)) return [folder]
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])
  const runs = names.filter((name) => Number.isInteger(seedOf(name))).toSorted((one, other) =>
    seedOf(one) - seedOf(other)
  )
  if (runs.length > 0) return runs.map((name) => path.join(folder, name))
  const detail = "this is neither the folder of a run, with records.jsonl, nor of a sweep, with folders seed-…"
  return yield* new RunStore.RunError({ run: folder, detail })
})
