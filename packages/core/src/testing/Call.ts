/** The calls that a scripted backend receives, and their log. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { UserMetadata } from "../backend/TrainingClient.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"

interface Pass {
  readonly client: string
  readonly data: ReadonlyArray<Datum.Datum<Datum.Kind>>
  readonly loss: Loss.Loss<Datum.Kind>
}

interface Save {
  readonly client: string
  readonly name: string
  readonly ttl: Duration.Duration | undefined
  readonly userMetadata?: UserMetadata
}

/** A call to a scripted backend. `client` is the `modelId` of the training client. */
export type Call = Data.TaggedEnum<{
  CreateTrainingClient: {
    readonly client: string
    readonly baseModel: string
    readonly loraRank: number
    readonly userMetadata?: UserMetadata
  }
  CreateTrainingClientFromState: {
    readonly client: string
    readonly path: string
    readonly userMetadata?: UserMetadata
  }
  CreateSamplingClient: { readonly modelPath: string }
  Sample: { readonly modelPath: string; readonly request: Sampling.SampleRequest }
  ComputeLogprobs: { readonly modelPath: string; readonly prompt: ModelInput.ModelInput }
  Forward: Pass
  ForwardBackward: Pass
  ForwardBackwardCustom: Omit<Pass, "loss">
  OptimStep: { readonly client: string; readonly adam: AdamParams }
  SaveState: Save
  SaveWeightsForSampler: Save
  Snapshot: { readonly client: string }
  LoadState: { readonly client: string; readonly path: string; readonly optimizer: boolean }
  Unload: { readonly client: string }
}>

/** The kind of a call. */
export type Operation = Call["_tag"]

export const Call = Data.taggedEnum<Call>()

const pass = (name: string) => ({ data, loss }: Pass) => `${name}(${data.length}, ${loss.name})`

const save = (name: string) => (call: Save) =>
  `${name}(${call.name}${call.ttl === undefined ? "" : `, ${Duration.format(call.ttl)}`})`

/** A call as a one-line text for comparing runs, such as `forward_backward(4, ppo)`. */
export const describe: (call: Call) => string = Call.$match({
  CreateTrainingClient: ({ baseModel, loraRank }) => `create_training_client(${baseModel}, ${loraRank})`,
  CreateTrainingClientFromState: ({ path }) => `create_training_client_from_state(${path})`,
  CreateSamplingClient: ({ modelPath }) => `create_sampling_client(${modelPath})`,
  Sample: ({ request }) => `sample(${request.numSamples ?? 1})`,
  ComputeLogprobs: ({ prompt }) => `compute_logprobs(${prompt.length})`,
  Forward: pass("forward"),
  ForwardBackward: pass("forward_backward"),
  ForwardBackwardCustom: ({ data }) => `forward_backward_custom(${data.length})`,
  OptimStep: ({ adam }) => `optim_step(${adam.learningRate})`,
  SaveState: save("save_state"),
  SaveWeightsForSampler: save("save_weights_for_sampler"),
  Snapshot: () => "snapshot",
  LoadState: ({ optimizer, path }) => `load_state(${path}${optimizer ? ", optimizer" : ""})`,
  Unload: () => "unload"
})

/** The calls of one scripted backend so far; training calls are in submission order. */
export class CallLog extends Context.Service<CallLog, {
  readonly record: (call: Call) => Effect.Effect<void>
  readonly calls: Effect.Effect<ReadonlyArray<Call>>
}>()("@effect-rl/core/testing/CallLog") {
  static readonly layer = Layer.sync(CallLog, () => {
    const calls: Array<Call> = []
    return {
      record: (call) => Effect.sync(() => void calls.push(call)),
      calls: Effect.sync(() => [...calls])
    }
  })
}
