/** The most informative number of an evaluation, by which evaluations are compared. */
import type * as Story from "./Story.ts"

/** The unit of a reading, which determines how it is formatted and judged. */
export type Unit = "share" | "reward" | "nats"

/** The most informative number that an evaluator measured. */
export interface Reading {
  readonly metric: "nll" | "margin" | "correct" | "reward"
  readonly unit: Unit
  readonly isLowerBetter: boolean
  readonly value: number
  /** The standard error of `value`; 0 if unknown. */
  readonly standardError: number
}

type Evaluated = NonNullable<Story.Evaluation<null>["evaluated"]>

type Found = Pick<Reading, "standardError" | "value"> | undefined

const shareOf = ({ score }: Evaluated): Found =>
  typeof score?.value === "number"
    ? { value: score.value, standardError: ((score.high ?? NaN) - (score.low ?? NaN)) / (2 * 1.96) || 0 }
    : undefined

const rewardOf = ({ reward }: Evaluated): Found =>
  typeof reward?.mean === "number"
    ? { value: reward.mean, standardError: reward.standardError ?? 0 }
    : undefined

const metricOf = (name: string) => ({ evaluator, metrics }: Evaluated): Found => {
  const value = metrics[`${evaluator}/${name}`]
  return typeof value === "number" ? { value, standardError: 0 } : undefined
}

/** The possible readings, the most informative first. */
const kinds = [
  { metric: "nll", read: metricOf("nll"), unit: "nats", isLowerBetter: true },
  { metric: "margin", read: metricOf("margin"), unit: "nats", isLowerBetter: false },
  { metric: "correct", read: shareOf, unit: "share", isLowerBetter: false },
  { metric: "reward", read: rewardOf, unit: "reward", isLowerBetter: false }
] as const

/**
 * The reading of an evaluation: negative log-likelihood if measured, otherwise margin, share of right answers, or reward. Undefined if it
 * has none of them.
 */
export const of = (evaluated: Evaluated): Reading | undefined =>
  kinds.flatMap(({ read, ...kind }): ReadonlyArray<Reading> => {
    const found = read(evaluated)
    return found === undefined ? [] : [{ ...kind, ...found }]
  })[0]

/** Whether the first value is better than the second. */
export const isBetter = ({ isLowerBetter }: Pick<Reading, "isLowerBetter">, value: number, than: number): boolean =>
  isLowerBetter ? value < than : value > than
