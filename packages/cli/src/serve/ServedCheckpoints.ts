/** `--checkpoint`: checkpoints of runs, which a server answers from under the names that people and records give them. */
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
  /** As the command line names it, such as `runs/x` or `runs/x@10`. */
  readonly name: string
  /** The model that was trained. */
  readonly model: string
  /** The path in the records of its run. */
  readonly recorded: string
  /** The path of the server's copy, as clients know it. */
  readonly path: string
}

const flagName = "--checkpoint"

export const flag = Flag.String("checkpoint").pipe(
  Flag.withMetavar("run"),
  Flag.withDescription(
    "A trained policy to serve: runs/x for the newest checkpoint of a run, runs/x@10 for that after its tenth iteration, runs/x@best, or "
      + "engine://… as a run recorded it; may be repeated"
  ),
  Flag.between(0, Infinity)
)

const refused = (run: string, detail: string) => new NamedCheckpoint.NoCheckpoint({ flag: flagName, run, detail })

/** Copies the sampler's weights of a named checkpoint into the server's folder. */
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

/** Copies the checkpoints of runs into the server's folder, where they stay. */
export const copyAll = (names: ReadonlyArray<string>, folder: string, backend: LocalAddress.Backend) =>
  Effect.forEach(Arr.dedupe(names), (name) => copied(name, folder, backend))

/** The models to serve besides those that are given: checkpoints may be of other models than presets. */
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

/** Fails where the model of a checkpoint is not among those that are served. */
export const check = (served: ReadonlyArray<ServedCheckpoint>, models: ReadonlyArray<string>) =>
  Effect.forEach(
    served.filter(({ model }) => !models.includes(model)),
    ({ model, name }) => refused(name, `was trained on ${model}, which is not served: add --model ${model}=PLACE`),
    { discard: true }
  )

/**
 * Paths of the copies by their names, and by their paths in the records. Runs of one model record equal paths: one that several of the
 * checkpoints share names none of them.
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
