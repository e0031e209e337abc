/** Downloads the files of a service's checkpoint. */
import { InvalidOption, RunStore, Tinker, TinkerError } from "@effect-rl/core"
import { Quantity } from "@effect-rl/core/records"
import { AtomicFile, FileFailure } from "@effect-rl/files"
import { CheckpointPath, RestClient } from "@effect-rl/tinker"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Output } from "../terminal/Output.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as ServiceFlags from "./ServiceFlags.ts"

export interface Options extends ServiceFlags.Flags {
  /** The parent folder; the checkpoint gets its own folder in it. */
  readonly output: string
  /** Whether to replace an existing folder of the checkpoint. */
  readonly force: boolean
}

/** Lifetime of a temporary export, in case it cannot be deleted. */
const exportLifetime = Duration.hours(1)

const refuse = (found: string, expected: string) => new InvalidOption.InvalidOption({ field: "path", found, expected })

/** `<run>_weights_<name>`, the Python SDK's name for the folder. */
const folderName = (address: string) => address.replace("tinker://", "").replaceAll("/", "_")

/** The path of a downloaded file. The service chooses file names, so a name that leads out of the folder is rejected. */
const placeOf = Effect.fnUntraced(function*(folder: string, name: string) {
  const path = yield* Path.Path
  const place = path.resolve(folder, name)
  return place.startsWith(path.resolve(folder) + path.sep)
    ? place
    : yield* refuse(`a checkpoint with the file "${name}"`, "files inside the checkpoint's folder")
})

/** Writes the files of external weights into the folder and returns their total bytes. `renew` runs before each file. */
const fetchFiles = Effect.fnUntraced(
  function*<E, R>(address: string, folder: string, renew: Effect.Effect<void, E, R>) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const rest = yield* RestClient.RestClient
    const output = yield* Output
    const received = yield* Ref.make(0)
    const names = Object.keys((yield* rest.getExternalWeightsUrls(address)).urls).toSorted()
    if (names.length === 0) return yield* refuse(`"${address}", which has no files`, "a checkpoint with files")
    const places = yield* Effect.forEach(names, (name) => placeOf(folder, name))
    for (const [index, place] of places.entries()) {
      const name = names[index] ?? ""
      yield* renew
      yield* fs.makeDirectory(path.dirname(place), { recursive: true })
      const counted = Stream.tap(rest.downloadExternalFile(address, name), ({ length }) =>
        Effect.flatMap(
          Ref.updateAndGet(received, (before) => before + length),
          (count) => output.live(`${Untrusted.show(name)}: ${Quantity.count(count)} bytes so far`)
        ))
      yield* Stream.run(counted, fs.sink(place))
    }
    return yield* Ref.get(received)
  }
)

const deleteExport = Effect.fnUntraced(function*(address: string) {
  const output = yield* Output
  const rest = yield* RestClient.RestClient
  yield* Effect.catch(rest.deleteCheckpoint(address), ({ message }) =>
    output.lines([
      output.style.warn(
        `warning: the temporary export ${Untrusted.show(address)} could not be deleted: ${Untrusted.show(message)}; ` +
          `it is gone after ${Duration.format(exportLifetime)}`
      )
    ]))
})

/** Exports a training checkpoint as external weights, which are deleted when the scope closes. */
const exported = Effect.fnUntraced(function*(address: string) {
  const tinker = yield* Tinker.Tinker
  const { saveWeightsExternal } = yield* tinker.createTrainingClientFromState(address)
  if (saveWeightsExternal === undefined) {
    const detail = "this service exports no training checkpoints: it has no format that other programs load"
    return yield* new TinkerError.TinkerError({
      operation: "saveWeightsExternal",
      reason: new TinkerError.Unsupported({ capability: "saveWeightsExternal", detail })
    })
  }
  const saved = Effect.flatMap(saveWeightsExternal("download", { ttl: exportLifetime }), ({ await: saved }) => saved)
  const { path } = yield* Effect.acquireRelease(saved, ({ path }) => deleteExport(path))
  return path
})

const fromExport = Effect.fnUntraced(function*(address: string, folder: string) {
  const rest = yield* RestClient.RestClient
  const path = yield* exported(address)
  return yield* fetchFiles(path, folder, rest.setCheckpointTtl(path, exportLifetime))
}, Effect.scoped)

const fetchCheckpoint = Effect.fnUntraced(function*(address: string, folder: string, flags: ServiceFlags.Flags) {
  const { type } = yield* CheckpointPath.parse(address)
  switch (type) {
    case "external":
      return yield* ServiceFlags.provide(fetchFiles(address, folder, Effect.void), flags)
    case "training": {
      const output = yield* Output
      yield* output.lines(["exporting it first, which begins a training session with its base model"])
      return yield* ServiceFlags.provideSession(fromExport(address, folder), flags)
    }
    case "sampler":
      return yield* refuse(`"${address}"`, "weights/… or external_weights/…: weights for sampling are not downloaded")
  }
})

const inFolder = (folder: string) => (error: PlatformError.PlatformError) =>
  Effect.fail(new RunStore.RunError({ run: folder, detail: FileFailure.describe("it", error) }))

/**
 * Downloads a training checkpoint or external weights into a new folder, which appears once all files have arrived. Returns the folder and
 * its bytes. A training checkpoint is first exported as external weights, in its own session.
 */
export const download = Effect.fnUntraced(function*(address: string, { force, output, ...flags }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.join(output, folderName(address))
  const write = Effect.gen(function*() {
    if (!force && (yield* fs.exists(folder))) {
      return yield* new InvalidOption.InvalidOption({
        field: "--output",
        found: `a folder that has ${folder}`,
        expected: "another one, or --force, which replaces it"
      })
    }
    const bytes = yield* AtomicFile.aside(folder, (partial) =>
      Effect.tap(
        fetchCheckpoint(address, partial, flags),
        fs.remove(folder, { recursive: true, force: true })
      ))
    return { folder, bytes }
  })
  return yield* Effect.catchTag(write, "PlatformError", inFolder(folder))
})
