/** `--checkpoint`: run checkpoints that a server can sample from, under the names used on the command line and in run records. */
import * as Arr from "effect/Array"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as CopiedCheckpoint from "../checkpoints/CopiedCheckpoint.ts"
import * as LocalAddress from "../checkpoints/LocalAddress.ts"
import * as NamedCheckpoint from "../checkpoints/NamedCheckpoint.ts"
import * as RunCheckpoints from "../checkpoints/RunCheckpoints.ts"
import * as Backend from "../train/Backend.ts"
import type { ServedModel } from "./ServedModels.ts"

export interface ServedCheckpoint {
  /** The name on the command line, such as `runs/x` or `runs/x@10`. */
  readonly name: string
  /** The trained model. */
  readonly model: string
  /** The path in the run's records. */
  readonly recorded: string
  /** The path of the server's copy, as clients use it. */
  readonly path: string
}

const flagName = "--checkpoint"

export const flag = Flag.String("checkpoint").pipe(
  Flag.withMetavar("run"),
  Flag.withDescription(
    "A trained policy to serve: runs/x for the newest checkpoint of a run, runs/x@10 for the checkpoint after its tenth iteration, runs/x@best, or "
      + "engine://… as a run recorded it; may be repeated"
  ),
  Flag.between(0, Infinity)
)

const refused = (run: string, detail: string) => new NamedCheckpoint.NoCheckpoint({ flag: flagName, run, detail })

/** Copies a named checkpoint's sampler weights into the server's folder. */
const copied = Effect.fnUntraced(function*(name: string, folder: string, backend: LocalAddress.Backend) {
  const named = yield* NamedCheckpoint.find(name, flagName)
  if (named === undefined) return yield* NamedCheckpoint.unknown(flagName, name)
  const { model, run, saved } = named
  if (model === undefined) return yield* refused(run, "the run names no model")
  const recorded = saved.samplerPath ?? saved.statePath
  if (
    !recorded.startsWith(LocalAddress.scheme(backend)) || (yield* RunCheckpoints.folderOf(run, recorded)) === undefined
  ) {
    return yield* refused(
      run,
      `its weights are at ${recorded}, where --backend ${backend} of this server does not find them: of a service, ` +
        "checkpoints download fetches the adapter, merge joins it with its model, and --model NAME=FOLDER serves that"
    )
  }
  const path = `tinker://${yield* CopiedCheckpoint.copy(named, recorded, folder)}`
  const served: ServedCheckpoint = { name, model, recorded, path }
  return served
})

/** Copies run checkpoints into the server's folder, where they stay. */
export const copyAll = (names: ReadonlyArray<string>, folder: string, backend: LocalAddress.Backend) =>
  Effect.forEach(Arr.dedupe(names), (name) => copied(name, folder, backend))

/** Models to serve besides the requested models: a checkpoint's model need not be a preset. */
export const models = (
  served: ReadonlyArray<ServedCheckpoint>,
  given: ReadonlyArray<ServedModel>,
  backend: LocalAddress.Backend
) => {
  const known = new Set(given.map(({ name }) => name))
  const missing = Arr.dedupe(served.map(({ model }) => model)).filter((model) => !known.has(model))
  return Effect.map(
    backend === "engine" ? Effect.filter(missing, Backend.isLoaded) : Effect.succeed(missing),
    (models) => models.map((model): ServedModel => ({ name: model, place: model }))
  )
}

/** Fails if a checkpoint's model is not served. */
export const check = (served: ReadonlyArray<ServedCheckpoint>, models: ReadonlyArray<string>) =>
  Effect.forEach(
    served.filter(({ model }) => !models.includes(model)),
    ({ model, name }) => refused(name, `was trained on ${model}, which is not served: add --model ${model}=PLACE`),
    { discard: true }
  )

/**
 * Maps checkpoint names and recorded paths to the copies' paths. Runs of one model may record equal paths; a recorded path that several
 * checkpoints share is left out.
 */
export const names = (served: ReadonlyArray<ServedCheckpoint>): ReadonlyMap<string, string> => {
  const isShared = ({ path, recorded }: ServedCheckpoint) =>
    served.some((other) => other.recorded === recorded && other.path !== path)
  const byRecord = served.filter((checkpoint) => !isShared(checkpoint))
  return new Map([
    ...byRecord.map(({ path, recorded }) => [recorded, path] as const),
    ...served.map(({ name, path }) => [name, path] as const)
  ])
}
