/** The settings that every recipe has, with defaults of its own. */
import { Advantage, type ChatModel, Loss, Rollout, Setting, type Train } from "@effect-rl/core"

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
  readonly loss: typeof losses[number]
  readonly clipLow?: number
  readonly clipHigh?: number
  readonly beta?: number
  readonly advantage: keyof typeof estimators
  readonly numSubsteps: number
  readonly temperature: number
  readonly topP: number
  readonly topK: number
  readonly allowBiasedSampling: boolean
  readonly concurrency: number
  readonly memberTimeout?: number
  readonly loadCheckpointPath?: string
  readonly constantFallbackSingleton: boolean
}

const losses = ["importance_sampling", "ppo", "cispo", "dro"] as const

const estimatorNames = ["centered", "leave_one_out"] as const

const estimators = { centered: Advantage.centered, leave_one_out: Advantage.leaveOneOut }

const learning = {
  loss: Setting.choice({ choices: losses, default: losses[0], help: "What is minimised" }),
  clipLow: Setting.number({
    above: 0,
    help: "Lower bound on the importance ratio, of ppo (0.8 unless given) and cispo (0)"
  }),
  clipHigh: Setting.number({
    above: 0,
    help: "Upper bound on the importance ratio, of ppo (1.2 unless given) and cispo (4)"
  }),
  beta: Setting.number({ above: 0, help: "Weight of dro's quadratic term (0.05 unless given)" }),
  advantage: Setting.choice({
    choices: estimatorNames,
    default: estimatorNames[0],
    help: "What an attempt's reward is compared with: its group's mean, or the mean of the others"
  }),
  numSubsteps: Setting.int({
    default: 1,
    least: 1,
    help: "Optimizer steps per step, each on its share of the problems"
  }),
  constantFallbackSingleton: Setting.toggle({
    default: false,
    help: "Train on the first problem when no problem has a signal, as tinker-cookbook does"
  }),
  loadCheckpointPath: Setting.text({
    help: "Weights to start from, with a fresh optimizer; the base model unless given"
  })
}

const sampling = {
  temperature: Setting.number({
    above: 0,
    default: 1,
    help: "Of training samples; other values need --allow-biased-sampling"
  }),
  topP: Setting.number({ above: 0, default: 1, help: "Sample from the likeliest tokens of this total probability" }),
  topK: Setting.int({
    default: 0,
    least: 0,
    unit: "tokens",
    help: "Sample from this many of the likeliest; 0 for all"
  }),
  allowBiasedSampling: Setting.toggle({
    default: false,
    help: "Train although temperature, top-p or top-k make the log-probabilities differ from what was sampled"
  }),
  concurrency: Setting.int({
    default: Rollout.defaultConcurrency,
    least: 1,
    unit: "problems",
    help: "Problems rolled out at the same time"
  }),
  memberTimeout: Setting.number({
    above: 0,
    unit: "seconds",
    help: "Longest time for one attempt; unbounded unless given"
  })
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
  learningRate: Setting.number({
    above: 0,
    default: defaults.learningRate,
    help: "Adam's step size, constant over the run"
  }),
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
  }),
  ...learning,
  ...sampling
})

/** What these settings are called, to tell them from those of the task. */
export const names: ReadonlySet<string> = new Set(Object.keys(fields({
  model: "",
  steps: 0,
  groups: 1,
  groupSize: 1,
  learningRate: 1,
  maxTokens: 1,
  evalEvery: 0
})))

const lossOf = ({ beta, clipHigh, clipLow, loss }: Omit<TrainingSettings, "groupSize">) => {
  const clip = {
    ...(clipLow === undefined ? {} : { clipLow }),
    ...(clipHigh === undefined ? {} : { clipHigh })
  }
  switch (loss) {
    case "importance_sampling":
      return Loss.importanceSampling
    case "ppo":
      return Loss.ppo(clip)
    case "cispo":
      return Loss.cispo(clip)
    case "dro":
      return Loss.dro(beta === undefined ? {} : { beta })
  }
}

/** The part of a configuration that these settings decide. */
export const config = (model: ChatModel.ChatModel, settings: Omit<TrainingSettings, "groupSize">) =>
  ({
    model,
    learningRate: settings.learningRate,
    maxTokens: settings.maxTokens,
    loraRank: settings.loraRank,
    seed: settings.seed,
    maxSteps: settings.steps,
    saveEvery: settings.saveEvery,
    evalEvery: settings.evalEvery,
    loss: lossOf(settings),
    advantage: estimators[settings.advantage],
    numSubsteps: settings.numSubsteps,
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    allowBiasedSampling: settings.allowBiasedSampling,
    concurrency: settings.concurrency,
    constantFallbackSingleton: settings.constantFallbackSingleton,
    ...(settings.memberTimeout === undefined ? {} : { memberTimeout: `${settings.memberTimeout} seconds` as const }),
    ...(settings.loadCheckpointPath === undefined ? {} : { loadCheckpointPath: settings.loadCheckpointPath })
  }) satisfies Partial<Train.Config>
