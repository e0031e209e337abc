/**
 * The spending expected at the end of a run, at its rate since it was opened.
 *
 * @example
 * const spentOnce = Forecast.once(Forecast.nothing, Spent.zero)
 */
import * as Spent from "../../records/Spent.ts"

/** How often something was done since the run was opened, and the total cost. */
export interface Done {
  readonly count: number
  readonly spent: Spent.Spent
}

/** Something that was not done yet. */
export const nothing: Done = { count: 0, spent: Spent.zero }

/** Counts one more, at its cost. */
export const once = ({ count, spent }: Done, cost: Spent.Spent): Done => ({
  count: count + 1,
  spent: Spent.add(spent, cost)
})

const next = ({ count, spent }: Done, times: number) => count === 0 ? Spent.zero : Spent.times(spent, times / count)

/** How much of a run is left. */
export interface Left {
  readonly iterations: number
  /** Measurements of single evaluators. */
  readonly evaluations: number
}

/**
 * `spent`, plus the mean cost of an iteration for each iteration that is left, plus the mean cost of an evaluation for each evaluation that
 * is left. Without a first one to measure, the cost is taken as 0.
 */
export const total = (
  spent: Spent.Spent,
  { evaluations, iterations }: { readonly iterations: Done; readonly evaluations: Done },
  left: Left
): Spent.Spent => Spent.add(spent, Spent.add(next(iterations, left.iterations), next(evaluations, left.evaluations)))

/** The settings that decide how much of a run is left. */
export interface Plan {
  readonly iterations: number
  readonly evalEvery: number
  readonly evaluators: number
}

/** Evaluations left after `done` iterations, counted once per evaluator: those between iterations, and the final one. */
export const evaluationsAfter = (done: number, { evalEvery, evaluators, iterations }: Plan): number => {
  if (evalEvery === 0) return 0
  return evaluators * (Math.ceil(iterations / evalEvery) - Math.ceil(done / evalEvery) + 1)
}
