/** What is measured: a model as it is, or with the weights of a checkpoint. */
import { RunRecord, Tinker } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as RunFolder from "../train/RunFolder.ts"

export interface Subject {
  readonly model: string
  /** Undefined for the model's own weights. */
  readonly checkpoint: string | undefined
  /** Where the engine keeps checkpoints. */
  readonly checkpoints: string
}

/** There are no weights to measure, or a run does not say of which model they are. */
export class NoCheckpoint extends Schema.TaggedError<NoCheckpoint>()("NoCheckpoint", {
  run: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `--checkpoint ${this.run}: ${this.detail}`
  }
}

const ofRun = Effect.fnUntraced(function*(run: string, model: Option.Option<string>) {
  const { read } = yield* RunDirectory.open(run)
  const records = RunRecord.current(yield* Stream.runCollect(read))
  const saved = records.findLast(RunRecord.guards.Saved)
  if (saved === undefined) return yield* new NoCheckpoint({ run, detail: "the run has no checkpoint" })
  const trained = records.findLast(RunRecord.guards.Opened)?.identity["model"]
  const name = Option.getOrElse(model, () => trained)
  if (typeof name !== "string") return yield* new NoCheckpoint({ run, detail: "the run names no model; give --model" })
  const subject: Subject = {
    model: name,
    checkpoint: saved.samplerPath ?? saved.statePath,
    checkpoints: yield* RunFolder.checkpoints(run)
  }
  return subject
})

/** A checkpoint that is a folder of a run stands for its newest one. */
export const resolve = Effect.fnUntraced(function*(
  model: Option.Option<string>,
  checkpoint: Option.Option<string>,
  usual = "effect-rl/tiny-128"
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const run = Option.getOrUndefined(checkpoint)
  if (run !== undefined && (yield* Effect.orElseSucceed(fs.exists(run), () => false))) return yield* ofRun(run, model)
  if (run !== undefined && !run.includes("://")) {
    const detail =
      "neither the folder of a run nor the path of a checkpoint, such as tinker://run/sampler_weights/final"
    return yield* new NoCheckpoint({ run, detail })
  }
  const subject: Subject = {
    model: Option.getOrElse(model, () => usual),
    checkpoint: run,
    checkpoints: path.resolve("checkpoints")
  }
  return subject
})

export const sampler = ({ checkpoint, model }: Subject) =>
  Tinker.Tinker.use((tinker) =>
    tinker.createSamplingClient(checkpoint === undefined ? { baseModel: model } : { modelPath: checkpoint })
  )
