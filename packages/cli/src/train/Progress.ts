/** The progress of a run, computed from its records. */
import type { RunRecord } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"

export type Phase = "starting" | "evaluating" | "sampling" | "training" | "saving" | "done"

export interface Progress {
  /** Number of planned iterations; null if the run has no planned end. */
  readonly iterations: number | null
  readonly startedAt: number
  readonly iteration: number
  readonly phase: Phase
  /** The evaluator that is running; undefined during training. */
  readonly evaluator: string | undefined
  /** Groups that the current evaluator or iteration has rolled out, and their planned number (0 if unknown). */
  readonly groups: { readonly completed: number; readonly total: number }
  /** Milliseconds of each of the latest iterations. */
  readonly durations: ReadonlyArray<number>
  /** Mean rewards of the latest iterations. */
  readonly rewards: ReadonlyArray<number>
  /** The record of the newest completed iteration. */
  readonly latest: RunRecord.Updated | undefined
  /** Seconds spent so far in each stage. */
  readonly seconds: Readonly<Record<Stage, number>>
}

/** What a run is doing. */
export type Stage = "sampling" | "training" | "evaluating"

/** The progress of a run that starts now. Times are in milliseconds from any fixed moment. */
export const begin = (now: number): Progress => ({
  iterations: 0,
  startedAt: now,
  iteration: 0,
  phase: "starting",
  evaluator: undefined,
  groups: { completed: 0, total: 0 },
  durations: [],
  rewards: [],
  latest: undefined,
  seconds: { sampling: 0, training: 0, evaluating: 0 }
})

/** How many rewards to keep: as many as fit on a narrow terminal. */
const rememberedRewards = 48

const updated = (self: Progress, record: RunRecord.Updated): Progress => {
  const { metrics, reward } = record
  const iteration = record.iteration + 1
  return {
    ...self,
    durations: [...self.durations, 1000 * seconds(metrics)].slice(-remembered),
    iteration,
    phase: isLast(self, iteration) ? "saving" : "sampling",
    groups: none,
    rewards: reward === undefined ? self.rewards : [...self.rewards, reward.mean].slice(-rememberedRewards),
    latest: record,
    seconds: {
      ...self.seconds,
      sampling: self.seconds.sampling + (metrics["time/sampling"] ?? 0),
      training: self.seconds.training + (metrics["time/training"] ?? 0)
    }
  }
}

const remembered = 5

const seconds = (metrics: Readonly<Record<string, number>>) =>
  (metrics["time/sampling"] ?? 0) + (metrics["time/training"] ?? 0)

const isLast = ({ iterations }: Progress, done: number) => iterations !== null && done >= iterations

const groupFinished = (self: Progress): Progress => {
  const groups = { ...self.groups, completed: self.groups.completed + 1 }
  return {
    ...self,
    groups,
    phase: self.phase === "sampling" && groups.completed === groups.total ? "training" : self.phase
  }
}

export const update = (self: Progress, record: RunRecord.RunRecord): Progress => {
  switch (record._tag) {
    case "Opened":
      return { ...self, iterations: record.iterations, iteration: record.iteration }
    case "Sampling":
      return {
        ...self,
        iteration: record.iteration,
        phase: "sampling",
        // The record of a proposal counts all groups of its iteration, so the finished ones still count.
        groups: { completed: record.proposal === undefined ? 0 : self.groups.completed, total: record.groups }
      }
    case "GroupRolledOut":
      return record.evaluator !== undefined && self.phase !== "evaluating" ? self : groupFinished(self)
    case "Updated":
      return updated(self, record)
    case "Evaluating":
      // An evaluation that runs beside training does not change the phase.
      if (record.weights !== undefined) return self
      return { ...self, phase: "evaluating", evaluator: record.evaluator, groups: none }
    case "Evaluated": {
      const seconds = { ...self.seconds, evaluating: self.seconds.evaluating + record.seconds }
      if (self.phase !== "evaluating") return { ...self, seconds }
      return { ...self, phase: isLast(self, record.iteration) ? "saving" : "sampling", groups: none, seconds }
    }
    case "Finished":
    case "Failed":
      return { ...self, phase: "done" }
    case "Credited":
    case "Saved":
    case "Warning":
      return self
  }
}

const none = { completed: 0, total: 0 }

/** Milliseconds until the run ends, from its forecast or its latest iterations; undefined if unknown. */
export const remaining = ({ durations, iteration, iterations, latest }: Progress): number | undefined => {
  const expected = latest?.forecast?.seconds
  if (expected !== undefined) return 1000 * Math.max(0, expected - (latest?.spent.seconds ?? 0))
  if (durations.length === 0 || iterations === null) return undefined
  return Statistics.mean(durations) * (iterations - iteration)
}
