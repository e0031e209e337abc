/** The settings of recipes that train on examples, of answers to imitate or of preferences. */
import { Setting } from "@effect-rl/core"
import * as CommonSettings from "./CommonSettings.ts"

export interface Defaults extends CommonSettings.Defaults {
  readonly batchSize: number
}

/** The fields of a recipe's settings. */
export const fields = (defaults: Defaults) => ({
  batchSize: Setting.int({
    default: defaults.batchSize,
    least: 1,
    unit: "examples",
    help: "Examples in each iteration"
  }),
  ...CommonSettings.fields(defaults)
})

/**
 * Shuffled batches of some rows, as many epochs as the iterations need.
 *
 * @example
 * const dataset = SupervisedDataset.conversations(conversations, {
 *   model,
 *   ...ExampleSettings.batches(conversations, { batchSize: 32, iterations: 50 })
 * })
 */
export const batches = (
  rows: ReadonlyArray<unknown>,
  { batchSize, iterations }: { readonly batchSize: number; readonly iterations: number }
) => ({
  batchSize,
  epochs: Math.max(1, Math.ceil(iterations / Math.ceil(rows.length / batchSize))),
  shuffle: true
})
