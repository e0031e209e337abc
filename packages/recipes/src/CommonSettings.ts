/** The settings that all recipes share. */
import { type ChatModel, LearningRate, Setting } from "@effect-rl/core"
import { Adam, RunOptions } from "@effect-rl/core/program"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

export interface Defaults {
  readonly model: string
  readonly iterations: number
  readonly learningRate: number
  /** Default `"constant"`. */
  readonly schedule?: "constant" | "linear" | "cosine"
  readonly maxTokens: number
  readonly evalEvery: number
}

const updating = {
  warmup: Setting.int({
    least: 0,
    default: 0,
    unit: "iterations",
    help: "Iterations over which the learning rate rises to its peak"
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

/**
 * The fields of a recipe's settings.
 *
 * @example
 * const Settings = Schema.Struct(CommonSettings.fields({
 *   model: "effect-rl/tiny-64",
 *   iterations: 20,
 *   learningRate: 1e-3,
 *   maxTokens: 16,
 *   evalEvery: 5
 * }))
 */
export const fields = (defaults: Defaults) => ({
  model: Setting.text({ default: defaults.model, help: "Base model to train" }),
  learningRate: Setting.number({ above: 0, default: defaults.learningRate, help: "Adam's step size, at its peak" }),
  ...RunOptions.RunSettings.fields,
  iterations: Setting.int({
    default: defaults.iterations,
    least: 0,
    unit: "iterations",
    help: "Length of the run; 0 only evaluates"
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
    help: "Iterations between checkpoints; 0 saves only at the end"
  }),
  maxTokens: Setting.int({
    default: defaults.maxTokens,
    least: 1,
    unit: "tokens",
    help: "Longest response of one turn"
  }),
  schedule: Setting.choice({
    choices: ["constant", "linear", "cosine"],
    default: defaults.schedule ?? "constant",
    help: "The learning rate over the run: constant, or falling to 0 linearly or along a cosine"
  }),
  ...updating,
  ...Adam.AdamSettings.fields,
  ...lora
})

const All = Schema.Struct(fields({ model: "", iterations: 0, learningRate: 1, maxTokens: 1, evalEvery: 0 }))

export type CommonSettings = typeof All.Type

const learningRateOf = ({ learningRate, schedule, warmup }: CommonSettings) => {
  switch (schedule) {
    case "constant":
      return LearningRate.constant(learningRate)
    case "linear":
      return LearningRate.linear({ peak: learningRate, warmup })
    case "cosine":
      return LearningRate.cosine({ peak: learningRate, warmup })
  }
}

/** The options of a run that these settings decide. */
export const options = (model: ChatModel.ChatModel, settings: CommonSettings) => ({
  model,
  lora: {
    rank: settings.loraRank,
    trainMlp: settings.trainMlp,
    trainAttn: settings.trainAttn,
    trainUnembed: settings.trainUnembed
  },
  ...(settings.loadCheckpointPath === undefined ? {} : { loadCheckpointPath: settings.loadCheckpointPath }),
  update: {
    learningRate: learningRateOf(settings),
    adam: Struct.pick(settings, ["beta1", "beta2", "eps", "weightDecay", "gradClipNorm"])
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
    "maxDollars",
    "maxMinutes",
    "maxJudgeCalls",
    "softShare",
    "interruptTimeout"
  ])
})
