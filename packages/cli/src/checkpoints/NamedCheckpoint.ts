/**
 * Checkpoint names on the command line: `runs/x` is a run's newest checkpoint, `runs/x@10` the checkpoint after its tenth iteration,
 * `runs/x@best` the checkpoint with the best evaluation, and `engine://…` or `tinker://…` the checkpoint that a run saved at that address.
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

/** The name refers to no weights, or its run does not record which model they belong to. */
export class NoCheckpoint extends Schema.TaggedError<NoCheckpoint>()("NoCheckpoint", {
  /** The flag that names the checkpoint. */
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

/** Whether the text is a checkpoint address rather than a run's name. */
export const isAddress = (text: string) => text.includes("://")

/** The error for a text that names neither a run nor a checkpoint on this machine. */
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
  /** The trained model; undefined if the run does not name it. */
  readonly model: string | undefined
  /** The folder in which a local backend keeps the run's checkpoints. */
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

/** The suffix of a name that selects one of a run's checkpoints. */
const place = /^(.+)@(\d+|best)$/

/** The run in a checkpoint name; undefined if the name does not end in `@` and a number or `best`. */
export const runIn = (text: string) => place.exec(text)?.[1]

/**
 * The saved checkpoint with the best result of the first evaluator; the earliest if several are equal. Undefined if no evaluated iteration
 * has a saved checkpoint. Rolling checkpoints are excluded: they expire, and have no sampler weights.
 */
const best = (story: Story.Story) => {
  const measured = Diagnosis.heldOut(story)
  if (measured === undefined) return undefined
  const { isLowerBetter, points } = measured
  const candidates = Story.checkpoints(story).flatMap((saved) => {
    const point = points.find(({ iterations }) => iterations === saved.iteration)
    return point === undefined || saved.kind === "rolling"
      ? []
      : [{ saved, value: point.value }]
  })
  const isBetter = (one: number, other: number) => isLowerBetter ? one < other : one > other
  const [first, ...others] = candidates
  return others.reduce((best, one) => best !== undefined && isBetter(one.value, best.value) ? one : best, first)?.saved
}

const ofBest = Effect.fnUntraced(function*(flag: string, run: string) {
  const story = yield* read(run)
  const saved = best(story)
  if (saved !== undefined) return yield* make(run, story, saved)
  const detail =
    "no evaluation was made where a checkpoint was saved: train with --eval-every and --save-every at the same iterations"
  return yield* new NoCheckpoint({ flag, run: `${run}@best`, detail })
})

/** The newest checkpoint of a run, or the newest that was saved after exactly the given number of iterations. */
const ofRun = Effect.fnUntraced(function*(flag: string, run: string, iteration: number | undefined) {
  const story = yield* read(run)
  const all = Story.checkpoints(story)
  const saved = all.findLast((record) => iteration === undefined || record.iteration === iteration)
  if (saved !== undefined) return yield* make(run, story, saved)
  const places = [...new Set(all.map(({ iteration }) => `${run}@${iteration}`))]
  const others = places.length === 0 ? "" : ` after iteration ${iteration}; it has ${places.join(", ")}`
  return yield* new NoCheckpoint({ flag, run, detail: `the run has no checkpoint${others}` })
})

/** The run's checkpoint with the given training or sampler address. */
const savedAt = Effect.fnUntraced(
  function*(run: string, address: string) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    // The list of checkpoints is short; a run's records may be long.
    const listed = yield* Effect.orElseSucceed(fs.readFileString(path.join(run, "checkpoints.jsonl")), () => "")
    if (!listed.includes(address)) return []
    const story = yield* read(run)
    const saved = Story.checkpoints(story).findLast(({ samplerPath, statePath }) =>
      address === statePath || address === samplerPath
    )
    return saved === undefined ? [] : [yield* make(run, story, saved)]
  },
  // An unreadable run must not stop the search of the other runs.
  Effect.catchTag("RunError", () => Effect.succeed([]))
)

/** Searches the runs of the searched folder for an address. Engine addresses are unique only within a run. */
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
 * The run's checkpoint that the text names. Undefined if the text names no run, or an address that no run has saved. Checkpoints in the
 * folder `besides` are not searched.
 */
export const find = Effect.fnUntraced(function*(text: string, flag = "--checkpoint", besides?: string) {
  const fs = yield* FileSystem.FileSystem
  if (isAddress(text)) return yield* ofAddress(flag, text, besides)
  if (yield* Effect.orElseSucceed(fs.exists(text), () => false)) return yield* ofRun(flag, text, undefined)
  const [, run = "", which] = place.exec(text) ?? []
  if (!(yield* RunCheckpoints.isRun(run))) return undefined
  return which === "best" ? yield* ofBest(flag, run) : yield* ofRun(flag, run, Number(which))
})
