/** The measure by which a run is judged: its value at the start and at the end. */
import * as Statistics from "../../records/Statistics.ts"
import * as Reading from "../../story/Reading.ts"
import * as Story from "../../story/Story.ts"

/** A measured value after a number of iterations. */
export interface Point {
  readonly iterations: number
  readonly value: number
  /** The standard error of `value`; 0 if unknown. */
  readonly standardError: number
}

export interface Measure {
  /** The name of the evaluator or of the training metric. */
  readonly name: string
  readonly unit: Reading.Unit
  readonly isLowerBetter: boolean
  readonly isHeldOut: boolean
  /** The measured values in order, at least one. */
  readonly points: readonly [Point, ...ReadonlyArray<Point>]
}

const isThere = (points: ReadonlyArray<Point>): points is Measure["points"] => points.length > 0

/**
 * The measure of one evaluator: the share of right answers if an evaluation has one, otherwise the number that `Reading.of` chooses. An
 * evaluation that has only a reward then counts as having no right answers.
 */
const heldOutBy = (story: Story.Story<null>, evaluator: string): ReadonlyArray<Measure> => {
  const found = Story.evaluations(story).flatMap(({ evaluated }) => {
    const one = evaluated?.evaluator === evaluator ? Reading.of(evaluated) : undefined
    return evaluated === undefined || one === undefined ? [] : [{ iterations: evaluated.iteration, ...one }]
  })
  const chosen = found.find(({ metric }) => metric === "correct") ?? found[0]
  if (chosen === undefined) return []
  const { isLowerBetter, metric, unit } = chosen
  const points = found.flatMap((one): ReadonlyArray<Point> => {
    const { iterations, standardError, value } = one
    if (one.metric === metric) return [{ iterations, value, standardError }]
    return metric === "correct" && one.metric === "reward" ? [{ iterations, value: 0, standardError: 0 }] : []
  })
  return isThere(points) ? [{ name: evaluator, unit, isLowerBetter, isHeldOut: true, points }] : []
}

/** The held-out measure of the first evaluator that has one; undefined if none has. */
export const heldOut = (story: Story.Story<null>): Measure | undefined =>
  Story.evaluators(story).flatMap((evaluator) => heldOutBy(story, evaluator))[0]

const updated = (story: Story.Story<null>) =>
  Story.iterations(story).flatMap(({ updated }) => updated === undefined ? [] : [updated])

/** The mean reward of each iteration. */
const rewards = (story: Story.Story<null>): ReadonlyArray<Point> =>
  updated(story).flatMap(({ iteration, reward }) =>
    reward === undefined
      ? []
      : [{ iterations: iteration + 1, value: reward.mean ?? NaN, standardError: reward.standardError ?? 0 }]
  )

/** The values of a metric by iteration. */
export const metric = (story: Story.Story<null>, name: string): ReadonlyArray<Point> =>
  updated(story).flatMap(({ iteration, metrics }) => {
    const value = metrics[name]
    return value === undefined ? [] : [{ iterations: iteration + 1, value: value ?? NaN, standardError: 0 }]
  })

const losses = [["nll", true], ["dpo/margin", false], ["loss:mean", true]] as const

const inNats = (story: Story.Story<null>, name: string, isLowerBetter: boolean): ReadonlyArray<Measure> => {
  const points = metric(story, name)
  return isThere(points) ? [{ name, unit: "nats", isLowerBetter, isHeldOut: false, points }] : []
}

/** The divergence from a teacher, which distillation minimises whatever the rewards are. */
const divergence = "teacher_kl"

/**
 * The training measure: the divergence from a teacher if there is one, otherwise the reward or, for a program without rewards, its loss or
 * margin. Undefined if none of them is recorded.
 */
export const training = (story: Story.Story<null>): Measure | undefined => {
  const [distilled] = inNats(story, divergence, true)
  if (distilled !== undefined) return distilled
  const points = rewards(story)
  if (isThere(points)) return { name: "reward", unit: "reward", isLowerBetter: false, isHeldOut: false, points }
  return losses.flatMap(([name, isLowerBetter]) => inNats(story, name, isLowerBetter))[0]
}

/** The mean of several points, placed at the last of them. */
const joined = (points: ReadonlyArray<Point>): Point => {
  const values = points.map(({ value }) => value)
  const errors = Math.sqrt(Statistics.sum(points.map(({ standardError }) => standardError ** 2))) / points.length
  const spread = points.length < 2 ? 0 : Math.sqrt(Statistics.variance(values) / points.length)
  return {
    iterations: points.at(-1)?.iterations ?? 0,
    value: Statistics.mean(values),
    standardError: Math.max(errors, spread)
  }
}

/** The number of iterations to average: a quarter of the run, from one to five. */
const windowOf = (points: number) => Math.min(5, Math.max(1, Math.floor(points / 4)))

/** The means of the first and of the last iterations: a quarter of the run, from one to five iterations. */
export const trend = (points: ReadonlyArray<Point>): readonly [first: Point, last: Point] => {
  const size = windowOf(points.length)
  return [joined(points.slice(0, size)), joined(points.slice(-size))]
}

/** A measure's start and end: the first and the last evaluation, or the trend of training. */
export const ends = ({ isHeldOut, points }: Measure): readonly [first: Point, last: Point] =>
  isHeldOut ? [points[0], points.at(-1) ?? points[0]] : trend(points)

/**
 * The best point: the best evaluation or, in training, the best mean of as many consecutive iterations as `trend` averages. The first value
 * is also considered.
 */
export const best = (measure: Measure): Point => {
  const { isHeldOut, isLowerBetter, points } = measure
  const size = isHeldOut ? 1 : windowOf(points.length)
  const means = points.slice(size - 1).map((_, at) => joined(points.slice(at, at + size)))
  const sign = isLowerBetter ? -1 : 1
  return [points[0], ...means].reduce((best, point) => sign * point.value > sign * best.value ? point : best)
}

/** How much better one point is than another. */
export interface Gain {
  readonly value: number
  readonly standardError: number
  /** Whether the change, in either direction, exceeds two standard errors or, if these are unknown, 2 % of the earlier value. */
  readonly isClear: boolean
}

/** Without a standard error, a change below this share of the value does not count. */
const leastShare = 0.02

/** How much better `to` is than `from`; negative if it is worse. */
export const gain = ({ isLowerBetter }: Measure, from: Point, to: Point): Gain => {
  const value = (isLowerBetter ? -1 : 1) * (to.value - from.value)
  const standardError = Math.hypot(from.standardError, to.standardError)
  const least = standardError > 0 ? 2 * standardError : leastShare * Math.abs(from.value)
  return { value, standardError, isClear: Math.abs(value) > Math.max(least, 1e-9) }
}
