/** The settings that all recipes share. */
import { type ChatModel, LearningRate, Setting } from "@effect-rl/core"
import { RlOptions, RunOptions, SamplingSettings } from "@effect-rl/core/program"
import * as Schema from "effect/Schema"

export interface Defaults {
  readonly model: string
  readonly iterations: number
  readonly learningRate: number
  /** How the learning rate changes over the run. Default: `"constant"`. */
  readonly schedule?: "constant" | "linear" | "cosine"
  readonly maxTokens: number
  readonly evalEvery: number
}

const Program = Schema.Struct({
  ...RunOptions.Settings.fields,
  update: Setting.group(Schema.Struct({ adam: RlOptions.UpdateSettings.fields.adam }).annotate({ title: "Update" }))
})

const common = Setting.flat(Program)

const rate = LearningRate.LearningRateSettings.fields

/** The settings for the base model and the learning rate. */
export const own = (defaults: Pick<Defaults, "learningRate" | "model" | "schedule">) => ({
  /** Base model to train. */
  model: Setting.text({ default: defaults.model, help: "Base model to train" }),
  learningRate: Setting.withDefault(rate.learningRate, defaults.learningRate),
  schedule: Setting.withDefault(rate.schedule, defaults.schedule ?? "constant"),
  warmup: rate.warmup
})

const { evalEvery, iterations, saveEvery, seed } = RunOptions.RunSettings.fields

/** The most frequently changed settings, with the recipe's own defaults. */
export const first = (defaults: Pick<Defaults, "evalEvery" | "iterations" | "maxTokens">) => ({
  iterations: Setting.withDefault(iterations, defaults.iterations),
  evalEvery: Setting.withDefault(evalEvery, defaults.evalEvery),
  saveEvery: Setting.withDefault(saveEvery, 10),
  maxTokens: Setting.withDefault(SamplingSettings.SamplingSettings.fields.maxTokens, defaults.maxTokens),
  seed
})

/**
 * Setting fields for a recipe's `Schema.Struct`: the shared settings, with the recipe's own defaults.
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
  ...own(defaults),
  ...first(defaults),
  ...common,
  // Spread again to override the same fields of `common`, which the help would list in sections. The first spread puts these settings at
  // the top of the help.
  ...first(defaults)
})

const All = Schema.Struct(fields({ model: "", iterations: 0, learningRate: 1, maxTokens: 1, evalEvery: 0 }))

export type CommonSettings = typeof All.Type

/** The run options that these settings determine. */
export const options = (model: ChatModel.ChatModel, settings: CommonSettings) => {
  const { update, ...program } = Setting.nest(Program, settings)
  return { model, ...program, update: { ...update, learningRate: LearningRate.fromSettings(settings) } }
}
