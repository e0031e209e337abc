/** The settings of recipes whose policy is an agent, besides the training settings. */
import { Setting } from "@effect-rl/core"
import * as TrainingSettings from "../TrainingSettings.ts"

/** Defaults that replace those of this module. */
export type Defaults = Partial<TrainingSettings.Defaults & { readonly names: ReadonlyArray<string> }>

/** The settings of training and of the agent's episodes. */
export const fields = ({ names = [], ...defaults }: Defaults = {}) => ({
  ...TrainingSettings.fields({
    model: "effect-rl/tiny-tasks",
    iterations: 20,
    groupsPerBatch: 16,
    groupSize: 8,
    learningRate: 1e-3,
    maxTokens: 64,
    evalEvery: 10,
    ...defaults
  }),
  /** Additional names under which the agent may request the trained model, such as one written into its code. */
  names: Setting.texts({
    default: names,
    unit: "names",
    help: "Additional names under which the agent may request the trained model, such as one written into its code",
    identity: true
  }),
  /**
   * Names of other models that the agent requests, whose answers are not trained on: the base model answers, as it was before training, or
   * in summariser=runs/x a checkpoint of it.
   */
  frozen: Setting.texts({
    default: [],
    unit: "names",
    weights: "sampler",
    help:
      "Names of other models that the agent requests, whose answers are not trained on: the base model answers, as it was " +
      "before training, or in summariser=runs/x a checkpoint of it",
    identity: true
  }),
  /** Most requests of an episode; one that needs more ends without a verdict. Default: 30 requests. */
  maxRequests: Setting.int({
    default: 30,
    least: 1,
    unit: "requests",
    help: "Most requests of an episode; one that needs more ends without a verdict",
    identity: true
  }),
  /** Time limit of an episode; one that takes longer ends without a verdict. Default: 5 minutes. */
  agentTimeout: Setting.duration({
    default: "5 minutes",
    help: "Time limit of an episode; one that takes longer ends without a verdict",
    identity: true
  }),
  /** Longest time between two requests of an agent, and between its last request and its end. Default: 2 minutes. */
  idleTimeout: Setting.duration({
    default: "2 minutes",
    help: "Longest time between two requests of an agent, and between its last request and its end",
    identity: true
  }),
  /** Most agents that run at the same time. Default: 8 agents. */
  agents: Setting.int({ default: 8, least: 1, unit: "agents", help: "Most agents that run at the same time" })
})
