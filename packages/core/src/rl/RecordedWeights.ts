/** The iterations whose weights a run's records tell of, by the optimizer steps behind them. */
import type * as RunRecord from "../records/RunRecord.ts"

/** Collects weights while the records of iterations are read, some of them several times. */
export const make = () => {
  const steps = new Map([[0, 0]])
  const iterations = new Map([[0, 0]])
  return {
    /** Optimizer steps behind the weights of an iteration. */
    stepsAt: (iteration: number) => steps.get(iteration),
    /** The first iteration with weights of so many optimizer steps. */
    iterations,
    updated: ({ iteration, updates }: RunRecord.Updated) => {
      const after = (steps.get(iteration) ?? 0) + updates.length
      steps.set(iteration + 1, after)
      if (!iterations.has(after)) iterations.set(after, iteration + 1)
    }
  }
}
