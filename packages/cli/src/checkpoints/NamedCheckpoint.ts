/**
 * A checkpoint as a person names it: `runs/x` is the newest one of a run, and `runs/x@10` the one that was saved after its tenth
 * iteration.
 */
import { RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as RunFolder from "../train/RunFolder.ts"
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

/** The text names neither a run nor the path of a checkpoint. */
export const unknown = (flag: string, text: string) =>
  new NoCheckpoint({
    flag,
    run: text,
    detail: "neither the folder of a run, such as runs/arithmetic-0 or runs/arithmetic-0@10 for the tenth iteration, " +
      "nor the path of a checkpoint, such as tinker://run/sampler_weights/final"
  })

export interface NamedCheckpoint {
  readonly run: string
  readonly saved: RunRecord.Saved
  /** The model that was trained; undefined where the run does not name it. */
  readonly model: string | undefined
  /** Where the engine keeps the run's checkpoints. */
  readonly checkpoints: string
}

/** The newest checkpoint after the iteration, counted from 1, or of all. */
const ofRun = Effect.fnUntraced(function*(flag: string, run: string, iteration: number | undefined) {
  const { read } = yield* RunDirectory.open(run)
  const records = RunRecord.current(yield* Stream.runCollect(read))
  const all = records.filter(RunRecord.guards.Saved)
  const saved = all.findLast((record) => iteration === undefined || record.iteration === iteration)
  if (saved === undefined) {
    const places = [...new Set(all.map(({ iteration }) => `${run}@${iteration}`))]
    const others = places.length === 0 ? "" : ` after iteration ${iteration}; it has ${places.join(", ")}`
    return yield* new NoCheckpoint({ flag, run, detail: `the run has no checkpoint${others}` })
  }
  const model = records.findLast(RunRecord.guards.Opened)?.identity["model"]
  const named: NamedCheckpoint = {
    run,
    saved,
    model: typeof model === "string" ? model : undefined,
    checkpoints: yield* RunFolder.checkpoints(run)
  }
  return named
})

/** The checkpoint of a run that the text names; undefined where it names no run. */
export const find = Effect.fnUntraced(function*(text: string, flag = "--checkpoint") {
  const fs = yield* FileSystem.FileSystem
  if (yield* Effect.orElseSucceed(fs.exists(text), () => false)) return yield* ofRun(flag, text, undefined)
  const [, run = "", iteration] = /^(.+)@(\d+)$/.exec(text) ?? []
  return (yield* RunCheckpoints.isRun(run)) ? yield* ofRun(flag, run, Number(iteration)) : undefined
})
