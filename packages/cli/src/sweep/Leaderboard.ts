/** Ranks configurations by their held-out scores. */
import { Compare } from "@effect-rl/core"
import type { RunRecord } from "@effect-rl/core"
import { Statistics, StudentT } from "@effect-rl/core/evaluation"
import { Quantity } from "@effect-rl/core/records"

/** A configuration's runs, one per seed. */
export interface Trained {
  readonly name: string
  readonly folder: string
  readonly runs: ReadonlyArray<ReadonlyArray<RunRecord.RunRecord>>
}

/** A configuration's score by one evaluator: the newest measurement of each of its runs. */
export interface Place {
  readonly name: string
  readonly folder: string
  readonly seeds: number
  /** Mean over the seeds' mean scores; null if a run was not measured. */
  readonly score: number | null
  /**
   * Half of the 95 % interval of the score: over seeds, or over problems for a single seed. Null if there is only one value or the score is
   * null.
   */
  readonly half: number | null
}

/** Configurations ranked by one evaluator, best first; configurations that it did not measure come last. */
export interface Leaderboard {
  readonly evaluator: string
  readonly places: ReadonlyArray<Place>
}

const halfOf = (values: ReadonlyArray<number>) =>
  values.length < 2
    ? null
    : StudentT.quantile(values.length - 1) * Math.sqrt(Statistics.variance(values) / values.length)

/** The mean score of each attempted problem. */
const problems = ({ scores }: Compare.HeldOut) =>
  [...scores.values()].flatMap((attempts) => attempts.length === 0 ? [] : [Statistics.mean(attempts)])

/** A configuration, and the measurements of all its runs. */
interface Measured extends Trained {
  readonly measurements: ReadonlyArray<Compare.HeldOut>
}

const placeOf = (evaluator: string, { folder, measurements, name, runs }: Measured): Place => {
  const measured = measurements.filter((measurement) => measurement.evaluator === evaluator).map(problems)
  const means = measured.map(Statistics.mean)
  const place = { name, folder, seeds: runs.length }
  return measured.length < runs.length || runs.length === 0
    ? { ...place, score: null, half: null }
    : { ...place, score: Statistics.mean(means), half: halfOf(means.length > 1 ? means : measured[0] ?? []) }
}

/** One leaderboard per evaluator, in the order of their first measurements. */
export const of = (trained: ReadonlyArray<Trained>): ReadonlyArray<Leaderboard> => {
  const configurations = trained.map((one): Measured => ({ ...one, measurements: one.runs.flatMap(Compare.heldOut) }))
  const evaluators = new Set(
    configurations.flatMap(({ measurements }) => measurements.map(({ evaluator }) => evaluator))
  )
  return Array.from(evaluators, (evaluator) => ({
    evaluator,
    places: configurations.map((one) => placeOf(evaluator, one)).toSorted((left, right) =>
      (right.score ?? -Infinity) - (left.score ?? -Infinity)
    )
  }))
}

const cells = ({ folder, half, name, score, seeds }: Place, index: number) => [
  score === null ? "–" : String(index + 1),
  name,
  score === null ? "not measured" : Quantity.fixed(score, 3),
  half === null ? "–" : `± ${Quantity.fixed(half, 3)}`,
  String(seeds),
  folder
]

/** The rows of the leaderboard's table, headings first. */
export const rows = ({ evaluator, places }: Leaderboard): ReadonlyArray<ReadonlyArray<string>> => [
  ["", "configuration", evaluator, "95 %", "seeds", "folder"],
  ...places.map(cells)
]
