/** All metrics of a run as series over iterations, time, tokens or dollars. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Story from "@effect-rl/core/story/Story"
import type { Updated } from "./Entry.ts"

/** The horizontal axis of curves. */
export type Axis = "iteration" | "minutes" | "tokens" | "dollars"

export const axes: ReadonlyArray<Axis> = ["iteration", "minutes", "tokens", "dollars"]

export interface MetricSeries {
  readonly name: string
  /** The series' heading: the prefix of its name. */
  readonly section: string
  /** The points in run order. Values that are not finite numbers have no point. */
  readonly points: ReadonlyArray<Point>
}

export interface Point {
  /** The point's position on the axis. */
  readonly x: number
  /** Number of completed iterations. */
  readonly iteration: number
  readonly value: number
}

/** An iteration's end on each axis. */
interface Place {
  readonly iteration: number
  readonly at: number
  readonly spent: Story.Story<null>["spent"]
}

/** Milliseconds of the run before a time, excluding pauses in which no process wrote it. */
const elapsed = ({ pauses, records }: Story.Story<null>, at: number) => {
  const began = records[0]?.at ?? at
  const paused = pauses.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, at) - from), 0)
  return Math.max(0, at - began - paused)
}

const minute = 60_000

/** The position on an axis; undefined for dollars if the run has no prices. */
const xOf = (story: Story.Story<null>, axis: Axis, { at, iteration, spent }: Place): number | undefined => {
  switch (axis) {
    case "iteration":
      return iteration
    case "minutes":
      return elapsed(story, at) / minute
    case "tokens":
      return all(spent)
    case "dollars":
      return spent.dollars ?? undefined
  }
}

const all = ({ prefilled, sampled, trained }: Story.Story<null>["spent"]) =>
  (prefilled ?? 0) + (sampled ?? 0) + (trained ?? 0)

const sectionOf = (name: string) => {
  const parts = name.split("/")
  if (parts.length === 1) return "training"
  return parts[0] === "env" ? parts.slice(0, 2).join("/") : parts[0] ?? ""
}

type Metrics = Readonly<Record<string, number | null>>

/** Tokens sampled and trained per second of the respective stage. */
const speeds = (metrics: Metrics): ReadonlyArray<readonly [name: string, value: number]> =>
  ([["sampled", "sampling"], ["trained", "training"]] as const).flatMap(([kind, stage]) => {
    const [tokens, seconds] = [metrics[`tokens/${kind}`], metrics[`time/${stage}`]]
    return typeof tokens === "number" && typeof seconds === "number" && seconds > 0
      ? [[`${speed}/tokens_${kind}_per_second`, tokens / seconds] as const]
      : []
  })

const gibibyte = 2 ** 30

/** What the process used, such as memory in GiB; empty if it was not measured. */
const uses = ({ process }: Updated): ReadonlyArray<readonly [name: string, value: number | null]> =>
  process === undefined ? [] : [
    [`${machine}/memory_gib`, process.memory === null ? null : process.memory / gibibyte],
    [`${machine}/processors`, process.processors]
  ]

/** All metrics of iterations and evaluators, by section and name; outcomes come first. */
export const of = (story: Story.Story<null>, axis: Axis): ReadonlyArray<MetricSeries> => {
  const found = new Map<string, { readonly section: string; readonly points: Array<Point> }>()
  const add = (section: string, name: string, place: Place, value: number | null | undefined) => {
    const x = xOf(story, axis, place)
    if (typeof value !== "number" || !Number.isFinite(value) || x === undefined) return
    const series = found.get(name) ?? { section, points: [] }
    found.set(name, series)
    series.points.push({ x, iteration: place.iteration, value })
  }
  for (const { index, updated } of Story.iterations(story)) {
    if (updated === undefined) continue
    const place = { iteration: index + 1, at: updated.at, spent: updated.spent }
    add(outcomes, "reward", place, updated.reward?.mean)
    for (const [name, value] of [...Object.entries(updated.metrics), ...speeds(updated.metrics), ...uses(updated)]) {
      add(sectionOf(name), name, place, value)
    }
  }
  for (const { evaluated, evaluator, iteration } of Story.evaluations(story)) {
    if (evaluated === undefined) continue
    const place = { iteration, at: evaluated.at, spent: evaluated.spent }
    add(outcomes, evaluator, place, evaluated.score?.value ?? evaluated.reward?.mean)
    const reading = Diagnosis.reading(evaluated)
    for (const [name, value] of Object.entries(evaluated.metrics)) {
      const isOutcome = reading?.unit === "nats" && name === `${evaluator}/${reading.metric}`
      add(isOutcome ? outcomes : sectionOf(name), name, place, value)
    }
  }
  const order = ({ name, section }: MetricSeries) => `${section === outcomes ? 0 : 1} ${section} ${name}`
  return [...found]
    .map(([name, series]): MetricSeries => ({ name, ...series }))
    .toSorted((left, right) => order(left) < order(right) ? -1 : 1)
}

/** The section of tokens per second. */
export const speed = "speed"

/** The section of what the process used. */
export const machine = "machine"

/** The section of rewards, scores, held-out losses and margins. */
export const outcomes = "outcomes"

/** Each value averaged with those before it, over at most `over` values. */
export const smoothed = (points: ReadonlyArray<Point>, over: number): ReadonlyArray<Point> => {
  if (over <= 1) return points
  let sum = 0
  return points.map((point, at) => {
    sum += point.value - (points[at - over]?.value ?? 0)
    return { ...point, value: sum / Math.min(at + 1, over) }
  })
}

/** The last point at or before a position; undefined before the first point. */
export const before = (points: ReadonlyArray<Point>, x: number): Point | undefined => {
  let [low, high] = [0, points.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle]?.x ?? Infinity) <= x) low = middle + 1
    else high = middle
  }
  return points[low - 1]
}

/** At most `most` points at equal distances from the first on, and the last point. */
export const thinned = <P extends Point>(points: ReadonlyArray<P>, most: number): ReadonlyArray<P> => {
  const each = Math.ceil(points.length / most)
  return points.filter((_, at) => at % each === 0 || at === points.length - 1)
}

/** A mean over seeds with its standard error; for one seed, its value. */
export interface Mean extends Point {
  readonly low: number
  readonly high: number
}

/** Maximum number of points of a mean over seeds. */
const mostMeans = 400

/**
 * The mean of the seeds' latest values at each position at which a seed has a point. Seeds that have no value yet or ended before the
 * position are excluded.
 */
export const meanOf = (seeds: ReadonlyArray<ReadonlyArray<Point>>): ReadonlyArray<Mean> => {
  const [only, ...others] = seeds
  if (only === undefined) return []
  if (others.length === 0) return only.map((point) => ({ ...point, low: point.value, high: point.value }))
  const places = new Map(seeds.flat().map((point) => [point.x, point]))
  const points = thinned([...places.values()].toSorted((left, right) => left.x - right.x), mostMeans)
  return points.map((point) => {
    const values = seeds.flatMap((seed) =>
      (seed.at(-1)?.x ?? -Infinity) < point.x ? [] : before(seed, point.x)?.value ?? []
    )
    const value = Statistics.mean(values)
    const error = values.length < 2 ? 0 : Math.sqrt(Statistics.variance(values) / values.length)
    return { ...point, value, low: value - error, high: value + error }
  })
}
