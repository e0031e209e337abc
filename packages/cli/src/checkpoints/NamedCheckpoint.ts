/**
 * A checkpoint as a person names it: `runs/x` is the newest one of a run, `runs/x@10` the one that was saved after its tenth iteration,
 * `runs/x@best` the one with the best evaluation, and `engine://…` or `tinker://…` the one that a run saved at that address.
 */
import { Diagnosis, type Recorded, Story, StoryReader } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import { Runs } from "@effect-rl/view"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as RunFolder from "../train/RunFolder.ts"
import * as Folders from "../view/Folders.ts"
import * as LocalAddress from "./LocalAddress.ts"
import * as RunCheckpoints from "./RunCheckpoints.ts"

/** There are no weights under the name, or a run does not say of which model they are. */
export class NoCheckpoint extends Schema.TaggedError<NoCheckpoint>()("NoCheckpoint", {
  /** The flag that names it. */
  flag: Schema.String,
  run: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.flag} ${this.run}: ${this.detail}`
  }
}

/** The folder whose runs are searched for an address. */
export const Searched = Context.Reference<string>("@effect-rl/cli/NamedCheckpoint/Searched", {
  defaultValue: () => Folders.usual
})

/** Whether the text is the address of a checkpoint rather than the name of a run. */
export const isAddress = (text: string) => text.includes("://")

/** The text names neither a run nor the address of a checkpoint that is on this machine. */
export const unknown = (flag: string, text: string) =>
  new NoCheckpoint({
    flag,
    run: text,
    detail: isAddress(text)
      ? `no run under ${Folders.usual} has saved it on this machine: name the run that has, such as runs/arithmetic-0@10; ` +
        "of a service, checkpoints download fetches the adapter, and merge joins it with its model"
      : "neither the folder of a run, such as runs/arithmetic-0, runs/arithmetic-0@10 for the tenth iteration or runs/arithmetic-0@best, " +
        "nor the path of a checkpoint, such as tinker://run/sampler_weights/final"
  })

export interface NamedCheckpoint {
  readonly run: string
  readonly saved: Recorded.Saved
  /** The model that was trained; undefined where the run does not name it. */
  readonly model: string | undefined
  /** Where the engine keeps the run's checkpoints. */
  readonly checkpoints: string
}

const read = (run: string) => Effect.flatMap(RunDirectory.open(run), StoryReader.read)

const make = Effect.fnUntraced(function*(run: string, story: Story.Story, saved: Recorded.Saved) {
  const model = Story.model(story)
  const named: NamedCheckpoint = {
    run,
    saved,
    model: model === "" ? undefined : model,
    checkpoints: yield* RunFolder.checkpoints(run)
  }
  return named
})

/** The last part of a name that says which of a run's checkpoints is meant. */
const place = /^(.+)@(\d+|best)$/

/** The run in the name of one of its checkpoints; undefined where the name has no `@`. */
export const runIn = (text: string) => place.exec(text)?.[1]

/**
 * The checkpoint at which the first evaluator measured the best, the earliest of several; undefined where no evaluation was made where a
 * checkpoint was saved. Rolling checkpoints do not count: they expire, and have nothing to sample from.
 */
const best = (story: Story.Story) => {
  const measured = Diagnosis.heldOut(story)
  if (measured === undefined) return undefined
  const { isLowerBetter, points } = measured
  const candidates = Story.checkpoints(story).flatMap((saved) => {
    const point = points.find(({ iterations }) => iterations === saved.iteration)
    return point === undefined || saved.kind === "rolling"
      ? []
      : [{ saved, value: isLowerBetter ? -point.value : point.value }]
  })
  const [first, ...others] = candidates
  return others.reduce((best, one) => best !== undefined && one.value > best.value ? one : best, first)?.saved
}

const ofBest = Effect.fnUntraced(function*(flag: string, run: string) {
  const story = yield* read(run)
  const saved = best(story)
  if (saved !== undefined) return yield* make(run, story, saved)
  const detail =
    "no evaluation was made where a checkpoint was saved: train with --eval-every and --save-every at the same iterations"
  return yield* new NoCheckpoint({ flag, run: `${run}@best`, detail })
})

/** The newest checkpoint after the iteration, counted from 1, or of all. */
const ofRun = Effect.fnUntraced(function*(flag: string, run: string, iteration: number | undefined) {
  const story = yield* read(run)
  const all = Story.checkpoints(story)
  const saved = all.findLast((record) => iteration === undefined || record.iteration === iteration)
  if (saved !== undefined) return yield* make(run, story, saved)
  const places = [...new Set(all.map(({ iteration }) => `${run}@${iteration}`))]
  const others = places.length === 0 ? "" : ` after iteration ${iteration}; it has ${places.join(", ")}`
  return yield* new NoCheckpoint({ flag, run, detail: `the run has no checkpoint${others}` })
})

/** The checkpoint that the run saved at the address, for training or for sampling. */
const savedAt = Effect.fnUntraced(
  function*(run: string, address: string) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    // The list of checkpoints is short, where the records of a run are not.
    const listed = yield* Effect.orElseSucceed(fs.readFileString(path.join(run, "checkpoints.jsonl")), () => "")
    if (!listed.includes(address)) return []
    const story = yield* read(run)
    const saved = Story.checkpoints(story).findLast(({ samplerPath, statePath }) =>
      address === statePath || address === samplerPath
    )
    return saved === undefined ? [] : [yield* make(run, story, saved)]
  },
  // A run that cannot be read does not keep the others from being found.
  Effect.catchTag("RunError", () => Effect.succeed([]))
)

/** The checkpoint at the address of a run of the searched folder. The engine's addresses repeat: each run keeps its own. */
const ofAddress = Effect.fnUntraced(function*(flag: string, address: string, besides: string | undefined) {
  const runs = yield* Runs.find([yield* Searched])
  const found = yield* Effect.forEach(runs, (run) => savedAt(run, address))
  const all = found.flat().filter(({ checkpoints }) => checkpoints !== besides)
  if (all.length > 1 && LocalAddress.isLocal(address)) {
    const places = all.map(({ run, saved }) => `${run}@${saved.iteration}`).join(", ")
    const detail = `several runs have saved a checkpoint there: name one of ${places}`
    return yield* new NoCheckpoint({ flag, run: address, detail })
  }
  return all[0]
})

/**
 * The checkpoint of a run that the text names; undefined where it names no run, or an address that no run has saved except those whose
 * checkpoints lie in the folder `besides`.
 */
export const find = Effect.fnUntraced(function*(text: string, flag = "--checkpoint", besides?: string) {
  const fs = yield* FileSystem.FileSystem
  if (isAddress(text)) return yield* ofAddress(flag, text, besides)
  if (yield* Effect.orElseSucceed(fs.exists(text), () => false)) return yield* ofRun(flag, text, undefined)
  const [, run = "", which] = place.exec(text) ?? []
  if (!(yield* RunCheckpoints.isRun(run))) return undefined
  return which === "best" ? yield* ofBest(flag, run) : yield* ofRun(flag, run, Number(which))
})
