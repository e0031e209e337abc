/**
 * Comparison of two runs, or of two sets of seeds, on held-out problems: paired by problem, so that the difficulty of the problems does
 * not blur the difference.
 */
import * as ConfidenceSequence from "../evaluate/ConfidenceSequence.ts"
import * as RunRecord from "../record/RunRecord.ts"
import * as Statistics from "../record/Statistics.ts"

/** The scores of all attempts at each problem, by the problem's key. */
export type Scores = ReadonlyMap<string, ReadonlyArray<number>>

/** One measurement of an evaluator on a run. */
export interface HeldOut {
  readonly evaluator: string
  /** The iteration before which the weights were measured. */
  readonly iteration: number
  readonly scores: Scores
}

/** How much the right side is better than the left one. */
export interface Comparison {
  /** Problems that both sides attempted. */
  readonly problems: number
  readonly left: number
  readonly right: number
  /** right − left. */
  readonly difference: number
  /** The ends of its 95 % interval; infinite where fewer than two problems are shared. */
  readonly low: number
  readonly high: number
  /** Problems at which the right side did better, worse and the same. */
  readonly better: number
  readonly worse: number
  readonly equal: number
  /** Whether both sides have several seeds, so that the interval also holds for other seeds and not only for these runs. */
  readonly coversSeeds: boolean
}

/** The newest measurement of each evaluator, in the order in which they first measured. */
export const heldOut = (records: ReadonlyArray<RunRecord.RunRecord>): ReadonlyArray<HeldOut> => {
  const newest = new Map<string, { readonly iteration: number; readonly scores: Map<string, ReadonlyArray<number>> }>()
  for (const record of RunRecord.current(records)) {
    if (record._tag !== "GroupRolledOut" || record.evaluator === undefined) continue
    const before = newest.get(record.evaluator)
    const { scores } = before?.iteration === record.iteration ? before : { scores: new Map() }
    scores.set(record.key, record.rewards.filter((reward) => !Number.isNaN(reward)))
    newest.set(record.evaluator, { iteration: record.iteration, scores })
  }
  return [...newest].map(([evaluator, measured]) => ({ evaluator, ...measured }))
}

const z = 1.959963984540054

/** The 97.5 % quantile of Student's t with 1 to 4 degrees of freedom, at which the expansion is too far off. */
const fewFreedoms = [12.706, 4.303, 3.182, 2.776]

/** The 97.5 % quantile of Student's t, by the expansion of Cornish and Fisher. */
const studentQuantile = (freedom: number) =>
  fewFreedoms[freedom - 1] ??
    z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2)

/** Problems that every seed of both sides attempted, in the order of their keys. */
const shared = (sides: ReadonlyArray<Scores>): ReadonlyArray<string> => {
  const [first, ...others] = sides
  return [...(first ?? [])].flatMap(([key, scores]) =>
    scores.length > 0 && others.every((other) => (other.get(key)?.length ?? 0) > 0) ? [key] : []
  ).toSorted()
}

/** The mean score of each problem, per seed: `[seed][problem]`. */
const table = (seeds: ReadonlyArray<Scores>, keys: ReadonlyArray<string>) =>
  seeds.map((scores) => keys.map((key) => Statistics.mean(scores.get(key) ?? [])))

const column = (rows: ReadonlyArray<ReadonlyArray<number>>, at: number) =>
  Statistics.mean(rows.map((row) => row[at] ?? NaN))

/** The difference of each shared problem, in the order of their keys, averaged over seeds. */
export const differences = (left: ReadonlyArray<Scores>, right: ReadonlyArray<Scores>): ReadonlyArray<number> => {
  const keys = shared([...left, ...right])
  const [leftRows, rightRows] = [table(left, keys), table(right, keys)]
  return keys.map((_, at) => column(rightRows, at) - column(leftRows, at))
}

/** The variance of the difference that comes from the choice of seeds; 0 where it is unknown because a side has only one seed. */
const seedVariance = (seeds: ReadonlyArray<Scores>, keys: ReadonlyArray<string>) =>
  seeds.length < 2 ? 0 : Statistics.variance(table(seeds, keys).map(Statistics.mean)) / seeds.length

/**
 * Compares two sides, each with the scores of one or more seeds. The interval is Student's over the problems' differences; with
 * several seeds on both sides the variance between their means is added, which errs on the side of caution.
 *
 * @example
 * const last = (records: ReadonlyArray<RunRecord.RunRecord>) => Compare.heldOut(records).slice(-1).map(({ scores }) => scores)
 * Compare.paired(last(recordsOfA), last(recordsOfB)) // { difference: 0.12, low: 0.08, high: 0.16, … }
 */
export const paired = (left: ReadonlyArray<Scores>, right: ReadonlyArray<Scores>): Comparison => {
  const keys = shared([...left, ...right])
  const each = differences(left, right)
  const coversSeeds = left.length > 1 && right.length > 1
  const between = coversSeeds ? seedVariance(left, keys) + seedVariance(right, keys) : 0
  const freedom = coversSeeds ? Math.min(keys.length - 1, left.length + right.length - 2) : keys.length - 1
  const difference = Statistics.mean(each)
  const half = keys.length < 2
    ? Infinity
    : studentQuantile(freedom) * Math.sqrt(Statistics.variance(each) / each.length + between)
  return {
    problems: keys.length,
    left: Statistics.mean(table(left, keys).map(Statistics.mean)),
    right: Statistics.mean(table(right, keys).map(Statistics.mean)),
    difference,
    low: difference - half,
    high: difference + half,
    better: each.filter((value) => value > 0).length,
    worse: each.filter((value) => value < 0).length,
    equal: each.filter((value) => value === 0).length,
    coversSeeds
  }
}

/** The number of problems after which the sides could be told apart; valid however often the comparison is looked at. */
export interface Stopping {
  /** The interval after all problems. */
  readonly interval: ConfidenceSequence.Interval
  /** Problems after which 0 was outside of the interval; undefined where it never was. */
  readonly decidedAfter: number | undefined
}

/** A confidence sequence over the differences in their order, each in [−range, range]: looking early and often does not invalidate it. */
export const stopping = (differences: ReadonlyArray<number>, range = 1): Stopping => {
  const sequence = ConfidenceSequence.empiricalBernstein(differences, { least: -range, most: range })
  const at = sequence.findIndex(({ high, low }) => low > 0 || high < 0)
  return {
    interval: sequence.at(-1) ?? { low: -range, high: range },
    decidedAfter: at < 0 ? undefined : at + 1
  }
}
