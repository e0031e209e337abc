/** The settings of recipes that train on examples: answers to imitate, or preferences. */
import { Setting } from "@effect-rl/core"
import * as Schema from "effect/Schema"
import * as CommonSettings from "./CommonSettings.ts"

export interface Defaults extends CommonSettings.Defaults {
  readonly batchSize: number
}

/** Setting fields for a recipe's `Schema.Struct`: the settings for training on examples, with the recipe's own defaults. */
export const fields = (defaults: Defaults) => ({
  /** Examples in each iteration. */
  batchSize: Setting.int({
    default: defaults.batchSize,
    least: 1,
    unit: "examples",
    help: "Examples in each iteration"
  }),
  ...CommonSettings.fields(defaults)
})

/** The settings that all recipes on examples share, with placeholders for the recipes' own defaults. */
export const ExampleSettings = Schema.Struct(fields({
  model: "",
  iterations: 0,
  batchSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
}))

export type ExampleSettings = typeof ExampleSettings.Type

/**
 * Dataset options for shuffled batches of the rows, with as many epochs as the iterations need.
 *
 * @example
 * const dataset = SupervisedDataset.conversations(conversations, {
 *   model,
 *   ...ExampleSettings.batches(conversations, { batchSize: 32, iterations: 50 })
 * })
 */
export const batches = (
  rows: ReadonlyArray<unknown>,
  { batchSize, iterations }: Pick<ExampleSettings, "batchSize" | "iterations">
) => ({
  batchSize,
  epochs: Math.max(1, Math.ceil(iterations / Math.ceil(rows.length / batchSize))),
  shuffle: true
})
