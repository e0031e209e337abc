/**
 * Compares two runs, or two sets of seeds, on held-out problems. Results are paired by problem, so differences in problem difficulty
 * cancel.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as ConfidenceSequence from "../evaluate/ConfidenceSequence.ts"
import * as CrossedEffects from "../evaluate/CrossedEffects.ts"
import * as StudentT from "../evaluate/StudentT.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import * as Spent from "../records/Spent.ts"
import * as Statistics from "../records/Statistics.ts"
import * as Usage from "../records/Usage.ts"
import * as Reading from "../story/Reading.ts"
import type * as Recorded from "../story/Recorded.ts"
import * as Story from "../story/Story.ts"

/** The scores of all attempts per problem; a problem is identified by its tags and its key. */
export type Scores = ReadonlyMap<string, ReadonlyArray<number>>

/** How far a run had been trained at a measurement. */
export interface Standing {
  /** Iterations that the weights were trained for. */
  readonly iteration: number
  /** All tokens that the run had paid for after the iteration, earlier evaluations included. */
  readonly tokens: number
  /** Seconds that the run had been open after the iteration; NaN if not recorded. */
  readonly seconds: number
}

/** One finished measurement by an evaluator. */
export interface HeldOut extends Standing {
  readonly evaluator: string
  readonly scores: Scores
}

/** The difference between two sides, right − left, on the problems that all their seeds attempted. */
export interface Paired extends CrossedEffects.Difference {
  /** The number of problems that all seeds of both sides attempted. */
  readonly problems: number
  readonly leftMean: number
  readonly rightMean: number
  /** The number of problems on which the right side did better; `worse` and `equal` likewise. */
  readonly better: number
  readonly worse: number
  readonly equal: number
  /** The problems by tags and key, sorted. */
  readonly keys: ReadonlyArray<string>
  /** right − left for each problem, in the order of `keys`. */
  readonly differences: ReadonlyArray<number>
}

/** A named side of a comparison: runs of one configuration with different seeds. */
export interface Side {
  readonly name: string
  readonly runs: ReadonlyArray<ReadonlyArray<RunRecord.RunRecord>>
}

/** One side of a comparison as measured by one evaluator. */
export interface Measured {
  readonly name: string
  /** Mean score over the problems that both sides attempted. */
  readonly mean: number
  /** The number of problems that all seeds of the side attempted. */
  readonly problems: number
  /** How far each seed's run had been trained. */
  readonly seeds: ReadonlyArray<Standing>
}

/** The unit in which two sides are compared at equal training. */
export type Meter = "iteration" | "tokens" | "time"

/** The comparison of two sides by one evaluator. */
export interface Comparison extends Omit<Paired, "leftMean" | "rightMean"> {
  readonly evaluator: string
  readonly left: Measured
  readonly right: Measured
  /** The amount of training at which the sides are compared; null if each run's newest measurement is used. */
  readonly at: { readonly meter: Meter; readonly limit: number } | null
}

/** The runs cannot be compared: no evaluator measured all of them, or they share no amount of training or no problem. */
export class CompareError extends Schema.TaggedError<CompareError>()("CompareError", {
  left: Schema.String,
  right: Schema.String,
  reason: Schema.Literals(["NotEvaluated", "NoCommonProblem", "NoCommonPoint"]),
  detail: Schema.String
}) {
  override get message() {
    return `${this.left} and ${this.right} cannot be compared: ${this.detail}`
  }
}

/**
 * A problem's name from its group's tags and key. The tags are included because equal keys, such as numbers, mean different problems in
 * different tasks.
 */
export const problemOf = ({ key, tags }: Recorded.Group) => [...tags, key].join(" ")

/**
 * How far the run had been trained after `iteration` iterations, by its newest earlier `Updated` record; without one, no tokens and 0
 * seconds.
 */
const standing = (story: Story.Story, iteration: number): Standing => {
  const last = Story.iterations(story).findLast(({ index, updated }) => updated !== undefined && index < iteration)
  const { seconds = NaN, ...spent } = last?.updated?.spent ?? Spent.zero
  return { iteration, tokens: Usage.total(spent), seconds }
}

/** All finished measurements, ordered by iteration. */
export const measurements = (records: ReadonlyArray<RunRecord.RunRecord>): ReadonlyArray<HeldOut> => {
  const story = Story.fromRecords(records)
  return Story.evaluations(story).flatMap(({ evaluated, evaluator, groups, iteration }) => {
    const scores: Scores = new Map(
      groups.map((group) => [problemOf(group), group.rewards.filter((reward) => !Number.isNaN(reward))])
    )
    return evaluated === undefined || groups.length === 0 ? [] : [{ evaluator, ...standing(story, iteration), scores }]
  })
}

/** The newest measurement of each evaluator, in the order of their first measurements. */
export const heldOut = (records: ReadonlyArray<RunRecord.RunRecord>): ReadonlyArray<HeldOut> => [
  ...new Map(measurements(records).map((measured) => [measured.evaluator, measured])).values()
]

/** The problems that every seed of both sides attempted, sorted by key. */
const shared = (seeds: ReadonlyArray<Scores>): ReadonlyArray<string> => {
  const [first, ...others] = seeds
  return [...(first ?? [])].flatMap(([key, scores]) =>
    scores.length > 0 && others.every((other) => (other.get(key)?.length ?? 0) > 0) ? [key] : []
  ).toSorted()
}

/** Mean scores as a table `[seed][problem]`. */
const table = (seeds: ReadonlyArray<Scores>, keys: ReadonlyArray<string>): CrossedEffects.Table =>
  seeds.map((scores) => keys.map((key) => Statistics.mean(scores.get(key) ?? [])))

const column = (rows: CrossedEffects.Table, at: number) => Statistics.mean(rows.map((row) => row[at] ?? NaN))

/**
 * Compares two sides, each with the scores of one or more seeds. If both sides have several seeds, the interval comes from `CrossedEffects`
 * and covers other seeds. Otherwise it is Student's t interval over the problems' differences, and holds for these runs only.
 *
 * @example
 * const last = (records: ReadonlyArray<RunRecord.RunRecord>) => Compare.heldOut(records).slice(-1).map(({ scores }) => scores)
 * Compare.paired(last(recordsOfA), last(recordsOfB)) // { difference: 0.12, low: 0.08, high: 0.16, … }
 */
export const paired = (left: ReadonlyArray<Scores>, right: ReadonlyArray<Scores>): Paired => {
  const keys = shared([...left, ...right])
  const [leftRows, rightRows] = [table(left, keys), table(right, keys)]
  const differences = keys.map((_, at) => column(rightRows, at) - column(leftRows, at))
  return {
    problems: keys.length,
    leftMean: Statistics.mean(leftRows.map(Statistics.mean)),
    rightMean: Statistics.mean(rightRows.map(Statistics.mean)),
    ...CrossedEffects.difference(leftRows, rightRows),
    better: differences.filter((value) => value > 0).length,
    worse: differences.filter((value) => value < 0).length,
    equal: differences.filter((value) => value === 0).length,
    keys,
    differences
  }
}

const readings: Readonly<Record<Meter, (standing: Standing) => number>> = {
  iteration: ({ iteration }) => iteration,
  tokens: ({ tokens }) => tokens,
  time: ({ seconds }) => seconds
}

type Measurements = ReadonlyArray<HeldOut>

/** An iteration at which all seeds of a side were measured, and the mean of the meter over them. */
interface Point {
  readonly value: number
  readonly measured: Measurements
}

const pointsOf = (seeds: ReadonlyArray<Measurements>, meter: Meter): ReadonlyArray<Point> =>
  (seeds[0] ?? []).flatMap(({ iteration }) => {
    const measured = seeds.flatMap((seed) => seed.find((held) => held.iteration === iteration) ?? [])
    return measured.length < seeds.length ? [] : [{ value: Statistics.mean(measured.map(readings[meter])), measured }]
  })

/**
 * The limit at which two sides are compared. For iterations, it is the newest one that both sides have; for tokens and time, the smaller of
 * the two sides' final amounts.
 */
const limitOf = (left: ReadonlyArray<Point>, right: ReadonlyArray<Point>, meter: Meter): number =>
  meter === "iteration"
    ? left.findLast(({ value }) => right.some((point) => point.value === value))?.value ?? NaN
    : Math.min(left.at(-1)?.value ?? NaN, right.at(-1)?.value ?? NaN)

interface Chosen {
  readonly at: Comparison["at"]
  readonly ours: Measurements
  readonly theirs: Measurements
}

/** The measurements to compare: each run's newest, or each side's newest up to the common limit. Undefined if there are none. */
const choose = (
  left: ReadonlyArray<Measurements>,
  right: ReadonlyArray<Measurements>,
  meter: Meter | undefined
): Chosen | undefined => {
  if (meter === undefined) {
    const [ours, theirs] = [left, right].map((seeds) => seeds.flatMap((seed) => seed.at(-1) ?? []))
    return ours === undefined || theirs === undefined ? undefined : { at: null, ours, theirs }
  }
  const points = [pointsOf(left, meter), pointsOf(right, meter)] as const
  const limit = limitOf(...points, meter)
  const [ours, theirs] = points.map((side) => side.findLast(({ value }) => value <= limit)?.measured)
  return ours === undefined || theirs === undefined ? undefined : { at: { meter, limit }, ours, theirs }
}

const measuredSide = (name: string, mean: number, measured: ReadonlyArray<HeldOut>): Measured => ({
  name,
  mean,
  problems: shared(measured.map(({ scores }) => scores)).length,
  seeds: measured.map(({ iteration, seconds, tokens }) => ({ iteration, tokens, seconds }))
})

/** A side's first problem, to quote in a message. */
const sample = (measured: ReadonlyArray<HeldOut>) => JSON.stringify([...(measured[0]?.scores.keys() ?? [])][0] ?? "")

/**
 * Compares two sides by each evaluator that measured all of their runs. Without `at`, each run's newest measurement is used; with it, the
 * newest measurement of each side up to a common number of iterations, tokens or seconds. Evaluators without such a measurement or without
 * a common problem are left out. Fails if no evaluator is left.
 *
 * @example
 * const compared = Compare.runs({ name: "a", runs: [recordsOfA] }, { name: "b", runs: [recordsOfB] }, "tokens")
 * Result.map(compared, (comparisons) => comparisons.map((comparison) => Verdict.of(comparison).text))
 */
export const runs = (
  left: Side,
  right: Side,
  at?: Meter
): Result.Result<ReadonlyArray<Comparison>, CompareError> => {
  const refuse = (reason: CompareError["reason"], detail: string) =>
    Result.fail(new CompareError({ left: left.name, right: right.name, reason, detail }))
  const [ours, theirs] = [left.runs.map(measurements), right.runs.map(measurements)]
  const by = (evaluator: string) => (measured: Measurements) => measured.filter((held) => held.evaluator === evaluator)
  const evaluators = [...new Set([...ours, ...theirs].flat().map(({ evaluator }) => evaluator))]
    .filter((evaluator) => [...ours, ...theirs].every((measured) => by(evaluator)(measured).length > 0))
  if (evaluators.length === 0) {
    return refuse("NotEvaluated", "no evaluator has measured both completely: train with evaluations (--eval-every)")
  }
  const chosen = evaluators.flatMap((evaluator) => {
    const found = choose(ours.map(by(evaluator)), theirs.map(by(evaluator)), at)
    return found === undefined ? [] : [{ evaluator, ...found }]
  })
  const [first] = chosen
  if (first === undefined) {
    return refuse("NoCommonPoint", `no evaluator measured every run at equal ${at}: evaluate more often (--eval-every)`)
  }
  const comparisons = chosen.flatMap(({ at, evaluator, ours, theirs }): ReadonlyArray<Comparison> => {
    const { leftMean, rightMean, ...compared } = paired(
      ours.map(({ scores }) => scores),
      theirs.map(({ scores }) => scores)
    )
    if (compared.problems === 0) return []
    return [{
      evaluator,
      ...compared,
      at,
      left: measuredSide(left.name, leftMean, ours),
      right: measuredSide(right.name, rightMean, theirs)
    }]
  })
  if (comparisons.length > 0) return Result.succeed(comparisons)
  return refuse(
    "NoCommonProblem",
    `they have no held-out problem in common: ${first.evaluator} has, for example, ${sample(first.ours)} in ` +
      `${left.name} and ${sample(first.theirs)} in ${right.name}. Compare runs of one task`
  )
}

/** The held-out loss or margin of a side: each seed has one number for all examples, and the side has their mean. */
export interface LossSide extends Pick<Measured, "name" | "seeds"> {
  readonly mean: number
}

/** The comparison of two sides by one evaluator's held-out loss or margin, which cannot be paired by example. */
export interface LossComparison {
  readonly evaluator: string
  readonly metric: Reading.Reading["metric"]
  readonly isLowerBetter: boolean
  readonly left: LossSide
  readonly right: LossSide
  /** right − left, in nats. */
  readonly difference: number
  /** Student's 95 % confidence interval over seeds; infinite if a side has only one seed. */
  readonly low: number
  readonly high: number
}

interface Loss extends Standing {
  readonly evaluator: string
  readonly reading: Reading.Reading
}

/** The newest loss or margin of each evaluator. */
const lossesOf = (records: ReadonlyArray<RunRecord.RunRecord>): ReadonlyMap<string, Loss> => {
  const story = Story.fromRecords(records)
  return new Map(
    Story.evaluations(story).flatMap(({ evaluated, evaluator, iteration }): ReadonlyArray<readonly [string, Loss]> => {
      const reading = evaluated === undefined ? undefined : Reading.of(evaluated)
      return reading?.unit === "nats" ? [[evaluator, { evaluator, reading, ...standing(story, iteration) }]] : []
    })
  )
}

const lossSide = (name: string, losses: ReadonlyArray<Loss>): LossSide => ({
  name,
  mean: Statistics.mean(losses.map(({ reading }) => reading.value)),
  seeds: losses.map(({ iteration, seconds, tokens }) => ({ iteration, tokens, seconds }))
})

/** Half the width of Welch's interval for the difference of two means over seeds. */
const halfWidth = (sides: ReadonlyArray<ReadonlyArray<Loss>>): number => {
  if (sides.some(({ length }) => length < 2)) return Infinity
  const parts = sides.map((losses) => ({
    part: Statistics.variance(losses.map(({ reading }) => reading.value)) / losses.length,
    freedom: losses.length - 1
  }))
  const variance = Statistics.sum(parts.map(({ part }) => part))
  if (variance === 0) return 0
  const freedom = variance ** 2 / Statistics.sum(parts.map(({ freedom, part }) => part ** 2 / freedom))
  return StudentT.quantile(Math.max(1, freedom)) * Math.sqrt(variance)
}

/**
 * Compares the newest held-out losses or margins, for each evaluator that recorded the same kind in every run. Supervised runs and
 * preference runs record one number for all held-out examples, so only several seeds can tell a difference from chance.
 *
 * @example
 * const [left, right] = [{ name: "a", runs: [recordsOfA] }, { name: "b", runs: [recordsOfB] }]
 * const differences = Compare.losses(left, right).map(({ difference, evaluator }) => [evaluator, difference])
 */
export const losses = (left: Side, right: Side): ReadonlyArray<LossComparison> => {
  const [ours, theirs] = [left.runs.map(lossesOf), right.runs.map(lossesOf)]
  return [...(ours[0]?.values() ?? [])].flatMap(({ evaluator, reading: { isLowerBetter, metric } }) => {
    const isSame = (loss: Loss | undefined): loss is Loss => loss?.reading.metric === metric
    const [one, other] = [ours, theirs].map((runs) => runs.map((run) => run.get(evaluator)).filter(isSame))
    if (one?.length !== left.runs.length || other?.length !== right.runs.length) return []
    const sides = { left: lossSide(left.name, one), right: lossSide(right.name, other) }
    const difference = sides.right.mean - sides.left.mean
    const half = halfWidth([one, other])
    return [{ evaluator, metric, isLowerBetter, ...sides, difference, low: difference - half, high: difference + half }]
  })
}

/** Whether, and after how many problems, the sides could be told apart; valid even if the comparison is checked repeatedly. */
export interface Stopping {
  /** The interval after all problems. */
  readonly interval: ConfidenceSequence.Interval
  /** The number of problems after which the interval first excluded 0; undefined if it never did. */
  readonly decidedAfter: number | undefined
}

/**
 * A confidence sequence over the differences in their given order, each in [−range, range]; `range` defaults to 1. It stays valid if it is
 * checked after every problem.
 */
export const stopping = (differences: ReadonlyArray<number>, range = 1): Stopping => {
  const sequence = ConfidenceSequence.empiricalBernstein(differences, { least: -range, most: range })
  const at = sequence.findIndex(({ high, low }) => low > 0 || high < 0)
  return {
    interval: sequence.at(-1) ?? { low: -range, high: range },
    decidedAfter: at < 0 ? undefined : at + 1
  }
}
