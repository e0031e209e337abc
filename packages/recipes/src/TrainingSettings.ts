/** The settings that every recipe has: those of the run's parts, with the recipe's own defaults. */
import {
  Adam,
  type ChatModel,
  DynamicSampling,
  type InvalidOption,
  KlPenalty,
  LearningRate,
  RlOptions,
  Rollout,
  RunOptions,
  SamplingSettings,
  Setting
} from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as CreditSettings from "./CreditSettings.ts"
import * as LossSettings from "./LossSettings.ts"

export interface Defaults {
  readonly model: string
  readonly iterations: number
  readonly groupsPerBatch: number
  readonly groupSize: number
  readonly learningRate: number
  readonly maxTokens: number
  readonly evalEvery: number
}

const schedules = ["constant", "linear", "cosine"] as const

const updating = {
  schedule: Setting.choice({
    choices: schedules,
    default: "constant",
    help: "The learning rate over the run: constant, or falling to 0 along a line or a cosine"
  }),
  warmup: Setting.int({
    least: 0,
    default: 0,
    unit: "iterations",
    help: "Iterations over which the learning rate rises to its peak"
  }),
  ...LossSettings.fields,
  ...CreditSettings.fields,
  klCoefficient: KlPenalty.KlSettings.fields.coefficient,
  klDiscount: KlPenalty.KlSettings.fields.discount,
  klReference: KlPenalty.KlSettings.fields.reference,
  klPostUpdate: KlPenalty.KlSettings.fields.postUpdate,
  substeps: Setting.int({
    least: 1,
    default: 1,
    help: "Optimizer steps per iteration, each on its share of the problems"
  }),
  loadCheckpointPath: Setting.text({
    help: "Weights to start from, with a fresh optimizer; the base model unless given"
  })
}

const lora = {
  loraRank: RunOptions.LoraSettings.fields.rank,
  trainMlp: RunOptions.LoraSettings.fields.trainMlp,
  trainAttn: RunOptions.LoraSettings.fields.trainAttn,
  trainUnembed: RunOptions.LoraSettings.fields.trainUnembed
}

const rollout = {
  concurrency: Setting.int({
    default: Rollout.defaultConcurrency,
    least: 1,
    unit: "problems",
    help: "Problems rolled out at the same time"
  }),
  memberTimeout: Setting.duration({ help: "Longest time for one attempt; unbounded unless given" }),
  ...RlOptions.LossesSettings.fields,
  ...DynamicSampling.DynamicSettings.fields
}

/** The fields of a recipe's settings. */
export const fields = (defaults: Defaults) => ({
  model: Setting.text({ default: defaults.model, help: "Base model to train" }),
  groupsPerBatch: Setting.int({
    default: defaults.groupsPerBatch,
    least: 1,
    unit: "problems",
    help: "Problems in each iteration"
  }),
  groupSize: Setting.int({
    default: defaults.groupSize,
    least: 1,
    unit: "attempts",
    help: "Attempts at each problem, whose rewards are compared with each other"
  }),
  learningRate: Setting.number({ above: 0, default: defaults.learningRate, help: "Adam's step size, at its peak" }),
  ...RunOptions.RunSettings.fields,
  iterations: Setting.int({
    default: defaults.iterations,
    least: 0,
    unit: "iterations",
    help: "Length of the run"
  }),
  evalEvery: Setting.int({
    default: defaults.evalEvery,
    least: 0,
    unit: "iterations",
    help: "Iterations between evaluations, the first before training and the last after; 0 for none"
  }),
  saveEvery: Setting.int({
    default: 10,
    least: 0,
    unit: "iterations",
    help: "Iterations between checkpoints; 0 saves at the end alone"
  }),
  ...SamplingSettings.SamplingSettings.fields,
  maxTokens: Setting.int({
    default: defaults.maxTokens,
    least: 1,
    unit: "tokens",
    help: "Longest response of one turn"
  }),
  ...updating,
  ...Adam.AdamSettings.fields,
  ...lora,
  ...rollout
})

/** Names of these settings, to tell them from those of a recipe's own task. */
export const names: ReadonlySet<string> = new Set(Object.keys(fields({
  model: "",
  iterations: 0,
  groupsPerBatch: 1,
  groupSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
})))

const All = Schema.Struct(fields({
  model: "",
  iterations: 0,
  groupsPerBatch: 1,
  groupSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
}))

export type TrainingSettings = typeof All.Type

type Settings = Omit<TrainingSettings, "groupSize">

const learningRateOf = ({ learningRate, schedule, warmup }: Settings) => {
  switch (schedule) {
    case "constant":
      return LearningRate.constant(learningRate)
    case "linear":
      return LearningRate.linear({ peak: learningRate, warmup })
    case "cosine":
      return LearningRate.cosine({ peak: learningRate, warmup })
  }
}

const Checked = Schema.Struct({
  maxTokens: Schema.Finite,
  ...LossSettings.fields,
  ...CreditSettings.fields
})

/** Fails with the first of a recipe's settings that does not go together with another; settings of other kinds are left alone. */
export const check = (settings: unknown): Effect.Effect<void, InvalidOption.InvalidOption> =>
  Option.match(Schema.decodeUnknownOption(Checked)(settings), {
    onNone: () => Effect.void,
    onSome: (settings) => Effect.andThen(LossSettings.check(settings), CreditSettings.check(settings))
  })

/** The options of a run that these settings decide. */
export const options = (model: ChatModel.ChatModel, settings: Settings) => ({
  model,
  lora: {
    rank: settings.loraRank,
    trainMlp: settings.trainMlp,
    trainAttn: settings.trainAttn,
    trainUnembed: settings.trainUnembed
  },
  ...(settings.loadCheckpointPath === undefined ? {} : { loadCheckpointPath: settings.loadCheckpointPath }),
  sampling: Struct.pick(settings, ["maxTokens", "temperature", "topP", "topK", "allowBiased"]),
  rollout: {
    ...Struct.pick(settings, ["concurrency", "memberTimeout", "maxDroppedShare"]),
    dynamic: Struct.pick(settings, ["minInformative", "maxBatches"])
  },
  update: {
    learningRate: learningRateOf(settings),
    adam: Struct.pick(settings, ["beta1", "beta2", "eps", "weightDecay", "gradClipNorm"]),
    loss: LossSettings.of(settings),
    credit: CreditSettings.of(settings),
    kl: {
      coefficient: settings.klCoefficient,
      discount: settings.klDiscount,
      postUpdate: settings.klPostUpdate,
      ...(settings.klReference === undefined ? {} : { reference: settings.klReference })
    },
    substeps: settings.substeps
  },
  run: Struct.pick(settings, [
    "seed",
    "iterations",
    "saveEvery",
    "saveTtl",
    "rollingSaveEvery",
    "rollingSaveTtl",
    "evalEvery",
    "maxTokensTotal",
    "interruptTimeout"
  ])
})
