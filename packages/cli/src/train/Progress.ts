/** How far a run is, folded from its events. */
import type { Train } from "@effect-rl/core"

export type Phase = "starting" | "evaluating" | "sampling" | "training" | "saving" | "done"

export interface Progress {
  readonly iterations: number
  /** Steps between evaluations and evaluators in each; see `begin`. */
  readonly evalEvery: number
  readonly evaluators: number
  readonly startedAt: number
  readonly iteration: number
  readonly phase: Phase
  /** Evaluators that have not answered yet in this evaluation. */
  readonly evaluatorsLeft: number
  readonly groups: { readonly completed: number; readonly total: number }
  /** Milliseconds of the latest steps. */
  readonly durations: ReadonlyArray<number>
}

/** Times are in milliseconds since any fixed moment. */
export const begin = (options: {
  readonly evalEvery: number
  readonly evaluators: number
  readonly now: number
}): Progress => ({
  iterations: 0,
  evalEvery: options.evalEvery,
  evaluators: options.evaluators,
  startedAt: options.now,
  iteration: 0,
  phase: "starting",
  evaluatorsLeft: 0,
  groups: { completed: 0, total: 0 },
  durations: []
})

const remembered = 5

/** Before step `iteration`, or after the last one. */
const enter = (self: Progress, iteration: number): Progress => {
  const isLast = iteration >= self.iterations
  const isDue = self.evalEvery > 0 && self.evaluators > 0 && (isLast || iteration % self.evalEvery === 0)
  return {
    ...self,
    iteration,
    phase: isDue ? "evaluating" : isLast ? "saving" : "sampling",
    evaluatorsLeft: isDue ? self.evaluators : 0,
    groups: { completed: 0, total: 0 }
  }
}

const seconds = (metrics: Readonly<Record<string, number>>) =>
  (metrics["time/sampling"] ?? 0) + (metrics["time/training"] ?? 0)

export const update = (self: Progress, event: Train.Event): Progress => {
  switch (event._tag) {
    case "Started":
      return enter({ ...self, iterations: event.iterations }, event.iteration)
    case "GroupFinished": {
      const { completed, total } = event
      return { ...self, phase: completed === total ? "training" : "sampling", groups: { completed, total } }
    }
    case "Iteration": {
      const durations = [...self.durations, 1000 * seconds(event.metrics)].slice(-remembered)
      return enter({ ...self, durations }, event.iteration + 1)
    }
    case "Evaluated": {
      const evaluatorsLeft = self.evaluatorsLeft - 1
      const next = self.iteration >= self.iterations ? "saving" : "sampling"
      return { ...self, evaluatorsLeft, phase: evaluatorsLeft > 0 ? "evaluating" : next }
    }
    case "Saved":
      return self
    case "Finished":
      return { ...self, phase: "done" }
  }
}

/** Milliseconds until the last step is done, by the latest steps; undefined before the first. */
export const remaining = ({ durations, iteration, iterations }: Progress): number | undefined => {
  if (durations.length === 0) return undefined
  const mean = durations.reduce((sum, duration) => sum + duration, 0) / durations.length
  return mean * (iterations - iteration)
}
