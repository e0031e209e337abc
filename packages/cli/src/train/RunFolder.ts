/** The folder of a run. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"

export interface Naming {
  readonly recipe: string
  readonly backend: string
  readonly seed: number
  readonly logPath: Option.Option<string>
}

/** `<recipe>-<seed>` with the engine, `<recipe>-<backend>-<seed>` with other backends: the mock's weights, for example, are not real. */
const defaultName = ({ backend, recipe, seed }: Naming) =>
  [recipe, ...(backend === "engine" ? [] : [backend]), seed].join("-")

/** The given folder, with `~` expanded, or else the default name under `runs`. */
export const resolve = Effect.fnUntraced(function*(naming: Naming) {
  const path = yield* Path.Path
  if (Option.isNone(naming.logPath)) return path.join("runs", defaultName(naming))
  const given = naming.logPath.value
  if (given !== "~" && !given.startsWith("~/")) return given
  const home = yield* Effect.orElseSucceed(Config.String("HOME"), () => "~")
  return path.join(home, given.slice(1))
})

/** Whether the folder already contains a run. */
export const isStarted = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(fs.exists(path.join(folder, "config.json")), () => false)
})

/** The engine's checkpoint folder for a run: in the run's folder, or above it for pipeline stages, which share it. */
export const checkpoints = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const own = path.join(folder, "checkpoints")
  const shared = path.join(folder, "..", "checkpoints")
  const isThere = (place: string) => Effect.orElseSucceed(fs.exists(place), () => false)
  return !(yield* isThere(own)) && (yield* isThere(shared)) ? shared : own
})
