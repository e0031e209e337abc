/** The settings that every recipe has, with defaults of its own. */
import type { ChatModel, Train } from "@effect-rl/core"
import * as Setting from "./Setting.ts"

export interface Defaults {
  readonly model: string
  readonly steps: number
  readonly groups: number
  readonly groupSize: number
  readonly learningRate: number
  readonly maxTokens: number
  readonly evalEvery: number
}

export interface TrainingSettings extends Defaults {
  readonly loraRank: number
  readonly seed: number
  readonly saveEvery: number
}

export const fields = (defaults: Defaults) => ({
  model: Setting.text({ default: defaults.model, help: "Base model to train" }),
  steps: Setting.int({ default: defaults.steps, least: 0, unit: "steps", help: "Length of the run" }),
  groups: Setting.int({ default: defaults.groups, least: 1, unit: "problems", help: "Problems in each step" }),
  groupSize: Setting.int({
    default: defaults.groupSize,
    least: 1,
    unit: "attempts",
    help: "Attempts at each problem, whose rewards are compared with each other"
  }),
  learningRate: Setting.positive({ default: defaults.learningRate, help: "Adam's step size, constant over the run" }),
  loraRank: Setting.int({ default: 32, least: 1, unit: "dimensions", help: "Rank of the adapter that is trained" }),
  maxTokens: Setting.int({ default: defaults.maxTokens, least: 1, unit: "tokens", help: "Longest response" }),
  seed: Setting.int({ default: 0, least: 0, help: "Decides the adapter's start, the data's order and every sample" }),
  saveEvery: Setting.int({
    default: 10,
    least: 0,
    unit: "steps",
    help: "Steps between checkpoints; 0 saves at the end alone"
  }),
  evalEvery: Setting.int({
    default: defaults.evalEvery,
    least: 0,
    unit: "steps",
    help: "Steps between evaluations, the first before training and the last after; 0 for none"
  })
})

/** The part of a configuration that these settings decide. */
export const config = (model: ChatModel.ChatModel, settings: TrainingSettings) =>
  ({
    model,
    learningRate: settings.learningRate,
    maxTokens: settings.maxTokens,
    loraRank: settings.loraRank,
    seed: settings.seed,
    maxSteps: settings.steps,
    saveEvery: settings.saveEvery,
    evalEvery: settings.evalEvery
  }) satisfies Partial<Train.Config>
