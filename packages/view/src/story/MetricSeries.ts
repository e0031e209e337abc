/** All metrics of a run as series over its iterations, its time, its tokens or its dollars. */
import * as Statistics from "@effect-rl/core/records/Statistics"
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Story from "@effect-rl/core/story/Story"

/** What curves are drawn over. */
export type Axis = "iteration" | "minutes" | "tokens" | "dollars"

export const axes: ReadonlyArray<Axis> = ["iteration", "minutes", "tokens", "dollars"]

export interface MetricSeries {
  readonly name: string
  /** The heading under which it stands: what its name begins with. */
  readonly section: string
  /** In the order of the run; a value that is not a number is left out. */
  readonly points: ReadonlyArray<Point>
}

export interface Point {
  /** Where the point lies on the axis. */
  readonly x: number
  /** Iterations that were done. */
  readonly iteration: number
  readonly value: number
}

/** Where an iteration's end lies on each axis. */
interface Place {
  readonly iteration: number
  readonly at: number
  readonly spent: Story.Story<null>["spent"]
}

/** Milliseconds of the run until a time, without those in which no process wrote it. */
const elapsed = ({ pauses, records }: Story.Story<null>, at: number) => {
  const began = records[0]?.at ?? at
  const paused = pauses.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, at) - from), 0)
  return Math.max(0, at - began - paused)
}

const minute = 60_000

/** Undefined where the run was given no prices. */
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

/** Tokens that were sampled and trained in each second of the stage that does so. */
const speeds = (metrics: Metrics): ReadonlyArray<readonly [name: string, value: number]> =>
  ([["sampled", "sampling"], ["trained", "training"]] as const).flatMap(([kind, stage]) => {
    const [tokens, seconds] = [metrics[`tokens/${kind}`], metrics[`time/${stage}`]]
    return typeof tokens === "number" && typeof seconds === "number" && seconds > 0
      ? [[`${speed}/tokens_${kind}_per_second`, tokens / seconds] as const]
      : []
  })

/** Every metric of the iterations and of the evaluators, by section and name; what a run is judged by comes first. */
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
    for (const [name, value] of [...Object.entries(updated.metrics), ...speeds(updated.metrics)]) {
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

/** The section of tokens in each second. */
export const speed = "speed"

/** The section of rewards, scores, and held-out losses and margins. */
export const outcomes = "outcomes"

/** Each value as the mean of the last `over` ones. */
export const smoothed = (points: ReadonlyArray<Point>, over: number): ReadonlyArray<Point> => {
  if (over <= 1) return points
  let sum = 0
  return points.map((point, at) => {
    sum += point.value - (points[at - over]?.value ?? 0)
    return { ...point, value: sum / Math.min(at + 1, over) }
  })
}

/** The last point at or before the place; undefined before the first one. */
export const before = (points: ReadonlyArray<Point>, x: number): Point | undefined => {
  let [low, high] = [0, points.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle]?.x ?? Infinity) <= x) low = middle + 1
    else high = middle
  }
  return points[low - 1]
}

/** As many points as a small picture shows: some of them, with the first and the last. */
export const thinned = <P extends Point>(points: ReadonlyArray<P>, most: number): ReadonlyArray<P> => {
  const each = Math.ceil(points.length / most)
  return points.filter((_, at) => at % each === 0 || at === points.length - 1)
}

/** The mean over seeds with its standard error; of one seed its value. */
export interface Mean extends Point {
  readonly low: number
  readonly high: number
}

/** Places at which the mean over seeds is known. */
const mostMeans = 400

/** The mean of several seeds wherever one of them has a point, of those that have come so far. */
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
