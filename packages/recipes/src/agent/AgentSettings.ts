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
  /** Names by which the agent asks for the model besides its own, such as one that is written into its code. */
  names: Setting.texts({
    default: names,
    unit: "names",
    help: "Names by which the agent asks for the model besides its own, such as one that is written into its code",
    identity: true
  }),
  /**
   * Names of other models that the agent asks for, whose answers are not trained on: the base model answers, as it was before training, or
   * in summariser=runs/x a checkpoint of it.
   */
  frozen: Setting.texts({
    default: [],
    unit: "names",
    weights: "sampler",
    help:
      "Names of other models that the agent asks for, whose answers are not trained on: the base model answers, as it was " +
      "before training, or in summariser=runs/x a checkpoint of it",
    identity: true
  }),
  /** Requests of an episode, after which it ends without a verdict. Default: 30 requests. */
  maxRequests: Setting.int({
    default: 30,
    least: 1,
    unit: "requests",
    help: "Requests of an episode, after which it ends without a verdict",
    identity: true
  }),
  /** Longest time of an episode, after which it ends without a verdict. Default: 5 minutes. */
  agentTimeout: Setting.duration({
    default: "5 minutes",
    help: "Longest time of an episode, after which it ends without a verdict",
    identity: true
  }),
  /** Longest time that the agent may neither ask nor end. Default: 2 minutes. */
  idleTimeout: Setting.duration({
    default: "2 minutes",
    help: "Longest time that the agent may neither ask nor end",
    identity: true
  }),
  /** Agents that run at the same time. Default: 8 agents. */
  agents: Setting.int({ default: 8, least: 1, unit: "agents", help: "Agents that run at the same time" })
})
