/** The operations of a backend, and how their answers are recorded. */
import { Capabilities, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import * as Schema from "effect/Schema"
import * as Service from "../wire/Service.ts"
import * as NumberText from "./NumberText.ts"

/** The port's name for a call, and the codec for its answer. */
export interface Operation<in out A> {
  readonly name: string
  readonly answer: Schema.Codec<A, Schema.Json>
}

const make = <A>(name: string, answer: Schema.Codec<A, unknown>): Operation<A> => ({
  name,
  answer: Schema.toCodecJson(answer)
})

const Nothing = Schema.Void

const Pass: Schema.Codec<TrainingClient.ForwardBackwardOutput, unknown> = Schema.Struct({
  logprobs: Schema.Array(NumberText.Floats),
  metrics: Schema.Record(Schema.String, Schema.Number)
})

const Checkpoint: Schema.Codec<TrainingClient.Checkpoint, unknown> = Schema.Struct({ path: Schema.String })

const Model: Schema.Codec<TrainingClient.ModelInfo, unknown> = Schema.Struct({
  modelId: Schema.String,
  baseModel: Schema.String,
  loraRank: Schema.Int
})

/** The weights of a sampling client. */
export interface Weights {
  readonly modelPath: string
}

const Weights: Schema.Codec<Weights, unknown> = Schema.Struct({ modelPath: Schema.String })

const CapabilitiesAnswer: Schema.Codec<Capabilities.Capabilities, unknown> = Schema.Struct({
  contextLength: Schema.Int,
  lossReduction: Schema.Literals(["token-sum", "sequence-mean", "unknown"]),
  seeds: Schema.Literals(Capabilities.seeds),
  promptLogprobs: Schema.Boolean,
  topkPromptLogprobs: Schema.Int,
  sampling: Schema.optionalKey(Schema.Array(Schema.Literals([...Service.newest.sampling, "grammar"]))),
  losses: Schema.optionalKey(Schema.Array(Schema.Literals(Service.newest.losses))),
  loraRank: Schema.Tuple([Schema.Int, Schema.Int]),
  tokenizerFingerprint: Schema.optionalKey(Schema.String)
})

const Topk = Schema.optionalKey(
  Schema.Array(Schema.Array(Schema.Struct({ token: Schema.Int, logprob: Schema.Number })))
)

const Sample: Schema.Codec<Sampling.SampleResponse, unknown> = Schema.Struct({
  sequences: Schema.Array(Schema.Struct({
    tokens: NumberText.Ints,
    logprobs: NumberText.Floats,
    maskedLogprobs: Schema.optionalKey(NumberText.Floats),
    stopReason: Schema.Literals(["stop", "length"]),
    sequenceId: Schema.optionalKey(Schema.String),
    topkLogprobs: Topk
  })),
  promptLogprobs: Schema.optionalKey(NumberText.Floats),
  topkPromptLogprobs: Topk,
  targetPromptLogprobs: Schema.optionalKey(Schema.Struct({ logprobs: NumberText.Floats, candidates: Schema.Int })),
  promptAltTokens: Schema.optionalKey(
    Schema.Struct({ tokens: NumberText.Ints, logprobs: NumberText.Floats, candidates: Schema.Int })
  ),
  promptCacheHitTokens: Schema.optionalKey(Schema.Int)
})

export const models = make("models", Schema.Array(Schema.String))
export const capabilities = make("capabilities", CapabilitiesAnswer)
export const createLoraTrainingClient = make("createLoraTrainingClient", Model)
export const createTrainingClientFromState = make("createTrainingClientFromState", Model)
export const createSamplingClient = make("createSamplingClient", Weights)
export const sample = make("sample", Sample)
export const computeLogprobs = make<Float32Array>("computeLogprobs", NumberText.Floats)
export const forward = make("forward", Pass)
export const forwardBackward = make("forwardBackward", Pass)
export const optimStep = make(
  "optimStep",
  Schema.Struct({ metrics: Schema.Record(Schema.String, Schema.Number) })
)
export const saveState = make("saveState", Checkpoint)
export const saveWeightsForSampler = make("saveWeightsForSampler", Checkpoint)
export const saveWeightsAndGetSamplingClient = make("saveWeightsAndGetSamplingClient", Weights)
export const loadState = make("loadState", Nothing)
export const unload = make("unload", Nothing)

interface Named {
  readonly name: string
  readonly answer: Schema.Decoder<unknown>
}

const all: ReadonlyArray<Named> = [
  models,
  capabilities,
  createLoraTrainingClient,
  createTrainingClientFromState,
  createSamplingClient,
  sample,
  computeLogprobs,
  forward,
  forwardBackward,
  optimStep,
  saveState,
  saveWeightsForSampler,
  saveWeightsAndGetSamplingClient,
  loadState,
  unload
]

const byName = new Map(all.map(({ answer, name }) => [name, answer]))

/** The decoder of an operation's answers, if there is an operation of this name. */
export const answerOf = (name: string) => byName.get(name)
