/** Trains one recipe with several seeds and reports the spread of their rewards. */
import { Statistics } from "@effect-rl/core/evaluation"
import { Quantity, RewardCurve } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RunHistory from "../report/RunHistory.ts"
import * as Columns from "../terminal/Columns.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as Sparkline from "../terminal/Sparkline.ts"
import * as OwnRecipe from "./OwnRecipe.ts"
import * as RunFolder from "./RunFolder.ts"
import * as SweepFolder from "./SweepFolder.ts"
import * as TrainRun from "./TrainRun.ts"

/** One iteration's rewards over all seeds. */
export interface Point {
  readonly iteration: number
  readonly mean: number
  /** Standard deviation over the seeds, with n − 1. */
  readonly deviation: number
  readonly least: number
  readonly greatest: number
}

/** The mean, minimum and maximum over the seeds. */
export const spread = (values: ReadonlyArray<number>) => ({
  mean: Statistics.mean(values),
  least: Math.min(...values),
  greatest: Math.max(...values)
})

const pointOf = (iteration: number, rewards: ReadonlyArray<number>): Point => {
  const { greatest, least, mean } = spread(rewards)
  return { iteration, mean, deviation: Math.sqrt(Statistics.variance(rewards)), least, greatest }
}

/** The spread of the seeds' rewards in the iterations that all seeds have reached. */
export const band = (histories: ReadonlyArray<Pick<RunHistory.RunHistory, "rewards">>): ReadonlyArray<Point> => {
  const shared = Math.min(...histories.map(({ rewards }) => rewards.length))
  return Array.from({ length: shared }, (_, index) => {
    const reports = histories.flatMap(({ rewards }) => rewards.slice(index, index + 1))
    return pointOf(reports[0]?.iteration ?? index + 1, reports.map(({ reward }) => reward))
  })
}

const shown = 5

/** The first point, the last point, and others at equal distances. */
const chosen = (points: ReadonlyArray<Point>) => {
  const count = Math.min(shown, points.length)
  return Array.from({ length: count }, (_, index) => Math.round((index * (points.length - 1)) / Math.max(1, count - 1)))
    .flatMap((at) => points.slice(at, at + 1))
}

const headings = ["iteration", "mean reward", "± between seeds", "least", "greatest"]

const cells = ({ deviation, greatest, iteration, least, mean }: Point) => [
  String(iteration),
  ...[mean, deviation, least, greatest].map((value) => Quantity.fixed(value, 3))
]

const curveSize = { width: 76, height: 14 }

const curve = (points: ReadonlyArray<Point>, { mode }: Output["Service"]) =>
  points.length < 2
    ? []
    : mode !== "live"
    ? [Sparkline.of(points.slice(-curveSize.width).map(({ mean }) => mean))]
    : RewardCurve.text(
      points.map(({ deviation, iteration, mean }) => ({
        iteration,
        reward: mean,
        rewardStandardError: deviation
      })),
      curveSize
    ).split("\n")

const report = Effect.fnUntraced(function*(folders: ReadonlyArray<string>) {
  const output = yield* Output
  const histories = yield* Effect.forEach(
    folders,
    (folder) => Effect.flatMap(RunDirectory.open(folder), RunHistory.read)
  )
  const points = band(histories)
  yield* output.lines([
    "",
    output.style.bold(`mean reward over ${folders.length} seeds`),
    ...curve(points, output),
    ...Columns.aligned([headings, ...chosen(points).map(cells)]),
    "",
    `see them:  ${yield* commandName} view ${folders.join(" ")}`
  ])
  yield* output.record({ type: "sweep", folders, band: points })
})

/** Trains with `count` consecutive seeds, starting at `first`. With `--log-path`, each seed has its own folder in it. */
export const each = Effect.fnUntraced(function*<A, E, R>(
  first: number,
  count: number,
  flags: TrainRun.Flags,
  train: (seed: number, flags: TrainRun.Flags) => Effect.Effect<A, E, R>
) {
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  return yield* Effect.forEach(
    seeds,
    Effect.fnUntraced(function*(seed) {
      const logPath = Option.isNone(flags.logPath)
        ? flags.logPath
        : Option.some(yield* SweepFolder.seed(flags.logPath.value, seed))
      return yield* train(seed, { ...flags, logPath })
    })
  )
})

/** Trains the recipe with `count` seeds and shows the spread of their rewards. */
export const run = Effect.fn("SeedSweep.run")(function*<E, R>(
  recipe: Recipe.Recipe<E, R>,
  given: Readonly<Record<string, unknown>>,
  flags: TrainRun.Flags,
  count: number
) {
  const name = yield* OwnRecipe.runName(recipe, flags.own)
  const { seed: first } = yield* TrainRun.configure(recipe, given, flags)
  const folders = yield* each(
    first,
    count,
    flags,
    (seed, flags) =>
      Effect.andThen(
        TrainRun.run(recipe, { ...given, seed }, flags),
        RunFolder.resolve({ ...flags, recipe: name, seed })
      )
  )
  if (flags.plan) return
  yield* Effect.provide(report(folders), Layer.provide(Output.layer(flags), RunLog.layerNone))
})
