/** The model that is evaluated: the base model, or the weights of a checkpoint. */
import { Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as NamedCheckpoint from "../checkpoints/NamedCheckpoint.ts"

export interface Subject {
  readonly model: string
  /** The checkpoint's address; undefined for the model's own weights. */
  readonly checkpoint: string | undefined
  /** The folder in which the engine keeps checkpoints. */
  readonly checkpoints: string
}

/** Resolves the flags to a model or a checkpoint, which may be named by its run. */
export const resolve = Effect.fnUntraced(function*(
  model: Option.Option<string>,
  checkpoint: Option.Option<string>,
  usual = "effect-rl/tiny-128"
) {
  const flag = "--checkpoint"
  const path = yield* Path.Path
  const text = Option.getOrUndefined(checkpoint)
  const named = text === undefined ? undefined : yield* NamedCheckpoint.find(text)
  if (named !== undefined) {
    const { checkpoints, run, saved } = named
    const name = Option.getOrElse(model, () => named.model)
    if (name === undefined) {
      return yield* new NamedCheckpoint.NoCheckpoint({ flag, run, detail: "the run names no model; give --model" })
    }
    const subject: Subject = { model: name, checkpoint: saved.samplerPath ?? saved.statePath, checkpoints }
    return subject
  }
  if (text !== undefined && !NamedCheckpoint.isAddress(text)) {
    return yield* NamedCheckpoint.unknown(flag, text)
  }
  const subject: Subject = {
    model: Option.getOrElse(model, () => usual),
    checkpoint: text,
    checkpoints: path.resolve("checkpoints")
  }
  return subject
})

export const sampler = ({ checkpoint, model }: Subject) =>
  Tinker.Tinker.use((tinker) =>
    tinker.createSamplingClient(checkpoint === undefined ? { baseModel: model } : { modelPath: checkpoint })
  )
