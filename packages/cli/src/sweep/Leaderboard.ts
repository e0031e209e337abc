/** Configurations in the order of their held-out scores. */
import { Compare } from "@effect-rl/core"
import type { RunRecord } from "@effect-rl/core"
import { Statistics, StudentT } from "@effect-rl/core/evaluation"
import * as Quantity from "../terminal/Quantity.ts"

/** The runs of a configuration, one for each seed. */
export interface Trained {
  readonly name: string
  readonly folder: string
  readonly runs: ReadonlyArray<ReadonlyArray<RunRecord.RunRecord>>
}

/** A configuration by one evaluator's newest measurement of each of its runs. */
export interface Place {
  readonly name: string
  readonly folder: string
  readonly seeds: number
  /** The mean of the seeds' mean scores; null where a run was not measured. */
  readonly score: number | null
  /** Half of its 95 % interval: over seeds, or with one seed over problems; null where there is one value alone. */
  readonly half: number | null
}

/** Configurations by one evaluator, the best first, and those that it did not measure last. */
export interface Leaderboard {
  readonly evaluator: string
  readonly places: ReadonlyArray<Place>
}

const halfOf = (values: ReadonlyArray<number>) =>
  values.length < 2
    ? null
    : StudentT.quantile(values.length - 1) * Math.sqrt(Statistics.variance(values) / values.length)

/** The mean score of each problem that was attempted. */
const problems = ({ scores }: Compare.HeldOut) =>
  [...scores.values()].flatMap((attempts) => attempts.length === 0 ? [] : [Statistics.mean(attempts)])

/** A configuration, and what was measured in all of its runs. */
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

/** One leaderboard for each evaluator, in the order in which they measured first. */
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

/** The rows of its table, headings first. */
export const rows = ({ evaluator, places }: Leaderboard): ReadonlyArray<ReadonlyArray<string>> => [
  ["", "configuration", evaluator, "95 %", "seeds", "folder"],
  ...places.map(cells)
]
