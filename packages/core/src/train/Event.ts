/** What a run tells while it goes on. */
import type { Capabilities } from "../backend/Capabilities.ts"
import type { Checkpoint } from "../backend/TrainingClient.ts"
import type * as Evaluator from "../evaluate/Evaluator.ts"

/** The run begins, or goes on, with `iteration` as the next of `iterations`. */
export interface Started {
  readonly _tag: "Started"
  readonly iteration: number
  readonly iterations: number
  readonly resumedFrom: Checkpoint | undefined
  readonly capabilities: Capabilities
  readonly warnings: ReadonlyArray<string>
}

/** One more group of this iteration has been rolled out; in order of completion. */
export interface GroupFinished {
  readonly _tag: "GroupFinished"
  readonly iteration: number
  readonly key: string
  readonly completed: number
  readonly total: number
}

/** A batch was rolled out and, unless it had no signal, trained on. */
export interface Iteration {
  readonly _tag: "Iteration"
  readonly iteration: number
  /** Over everything that was sampled (NaN where every group was skipped), with its standard error over groups. */
  readonly meanReward: number
  readonly rewardStandardError: number | undefined
  readonly groups: number
  readonly informative: number
  readonly datums: number
  /** Optimizer steps taken; 0 when no group had a signal. */
  readonly optimizerSteps: number
  readonly metrics: Readonly<Record<string, number>>
}

/** The policy before `iteration` was evaluated. */
export interface Evaluated {
  readonly _tag: "Evaluated"
  readonly iteration: number
  readonly evaluation: Evaluator.Evaluation
}

/** `iteration` iterations are done and can be resumed from here. */
export interface Saved {
  readonly _tag: "Saved"
  readonly iteration: number
  readonly checkpoint: Checkpoint
}

/** The run is over: all iterations are done, or the next would exceed the tokens it may use. */
export interface Finished {
  readonly _tag: "Finished"
  readonly iteration: number
  readonly checkpoint: Checkpoint
  readonly reason: "completed" | "max_tokens_total"
}

export type Event = Started | GroupFinished | Iteration | Evaluated | Saved | Finished
