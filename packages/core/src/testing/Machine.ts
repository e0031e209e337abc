/** The state shared by the clients of one scripted backend. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type { Capabilities } from "../backend/Capabilities.ts"
import { NotFound, type Reason, TinkerError } from "../backend/TinkerError.ts"
import * as Seed from "../records/Seed.ts"
import { type Call, CallLog, type Operation } from "./Call.ts"
import * as Fault from "./Fault.ts"
import { LeakAudit } from "./LeakAudit.ts"
import * as Script from "./Script.ts"
import * as TestTokenizer from "./TestTokenizer.ts"
import type * as ToyModel from "./ToyModel.ts"

/** Saved weights, and the optimizer's state if it was saved too. */
export interface Checkpoint {
  readonly baseModel: string
  readonly loraRank: number
  readonly step: number
  readonly weights: ToyModel.Rows
  readonly optimizer: ToyModel.Optimizer | undefined
}

/** A model of the script, with its capabilities. */
export interface Model extends ToyModel.ToyModel {
  readonly name: string
  readonly capabilities: Capabilities
}

const portNames: Record<Operation, string> = {
  CreateTrainingClient: "createLoraTrainingClient",
  CreateTrainingClientFromState: "createTrainingClientFromState",
  CreateSamplingClient: "createSamplingClient",
  Sample: "sample",
  ComputeLogprobs: "computeLogprobs",
  Forward: "forward",
  ForwardBackward: "forwardBackward",
  ForwardBackwardCustom: "forwardBackwardCustom",
  OptimStep: "optimStep",
  SaveState: "saveState",
  SaveWeightsForSampler: "saveWeightsForSampler",
  Snapshot: "saveWeightsAndGetSamplingClient",
  LoadState: "loadState",
  Unload: "unload"
}

/** The port's name of an operation, as used in errors. */
export const portName = (operation: Operation) => portNames[operation]

/** Converts a reason to the port's error. */
export const failing = (operation: string) => <A, R>(self: Effect.Effect<A, Reason, R>) =>
  Effect.mapError(self, (reason) => new TinkerError({ operation, reason }))

export const make = Effect.fnUntraced(function*(script: Script.Script) {
  const log = yield* CallLog
  const audit = yield* LeakAudit
  const counts = yield* Ref.make<Readonly<Record<string, number>>>({})
  const checkpoints = yield* Ref.make<ReadonlyMap<string, Checkpoint>>(new Map())
  const tokenizer = script.tokenizer ?? TestTokenizer.characters
  const models = new Map(
    Object.entries(script.models ?? { [Script.defaultModel]: {} }).map((
      [name, capabilities]
    ): [string, Model] => [name, {
      name,
      seed: Seed.derive(0, name),
      vocabulary: tokenizer.vocabulary,
      capabilities: { ...Script.defaultCapabilities, tokenizerFingerprint: tokenizer.fingerprint, ...capabilities }
    }])
  )
  return {
    script,
    tokenizer,
    track: audit.track,
    models: Array.from(models.keys()),
    model: (name: string): Effect.Effect<Model, Reason> => {
      const model = models.get(name)
      return model === undefined
        ? Effect.fail(new NotFound({ kind: "model", name, available: [...models.keys()] }))
        : Effect.succeed(model)
    },
    /** Adds `amount` to the count of a name; returns the previous count. */
    count: (name: string, amount = 1) =>
      Ref.modify(counts, (before) => [before[name] ?? 0, { ...before, [name]: (before[name] ?? 0) + amount }] as const),
    record: (call: Call) => log.record(call),
    /** Applies the script's faults to a call. */
    disturb: (operation: Operation, call: number) =>
      Fault.all(...(script.faults ?? []).map((plan) => plan(operation, call)))<never>(Effect.void),
    save: (path: string, checkpoint: Checkpoint) =>
      Ref.update(checkpoints, (all) => new Map(all).set(path, checkpoint)),
    load: (path: string): Effect.Effect<Checkpoint, Reason> =>
      Effect.flatMap(Ref.get(checkpoints), (all) => {
        const checkpoint = all.get(path)
        return checkpoint === undefined
          ? Effect.fail(new NotFound({ kind: "checkpoint", name: path, available: [...all.keys()] }))
          : Effect.succeed(checkpoint)
      })
  }
})

export type Machine = Effect.Success<ReturnType<typeof make>>
