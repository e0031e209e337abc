/**
 * Learning rate schedules over the iterations of a run.
 *
 * @example
 * Rl.run({ model, dataset, update: { learningRate: LearningRate.cosine({ peak: 2e-4, warmup: 10 }) } })
 */
import * as Schema from "effect/Schema"
import type { Json, JsonObject } from "../records/Json.ts"
import * as Check from "../settings/Check.ts"
import * as Setting from "../settings/Setting.ts"

/** The index of an iteration, and the number of iterations of the run (`Infinity` if the run has no end). */
export interface Progress {
  readonly iteration: number
  readonly iterations: number
}

/** A schedule, with the name and configuration that identify it in a run's records. */
export interface LearningRate {
  readonly name: string
  readonly config: JsonObject
  readonly at: (progress: Progress) => number
}

/** The peak rate and the warm-up. */
export interface Options {
  /** The highest learning rate. */
  readonly peak: number
  /** Number of iterations over which the rate rises linearly to its peak. Default: 0. */
  readonly warmup?: number
}

/** A custom schedule: the rate as a function of progress. */
export const make = (name: string, at: LearningRate["at"], config: JsonObject = {}): LearningRate => ({
  name,
  config,
  at
})

/** The same rate in every iteration. */
export const constant = (rate: number): LearningRate => make("constant", () => rate, { rate })

/**
 * A schedule that decays after the warm-up. `shape` gets the completed fraction of the iterations after the warm-up: 0 at the peak, below 1
 * in the last iteration.
 */
const decayed = (name: string, { peak, warmup = 0 }: Options, shape: (share: number) => number) =>
  make(name, ({ iteration, iterations }) => {
    if (iteration < warmup) return (peak * (iteration + 1)) / (warmup + 1)
    return peak * shape((iteration - warmup) / Math.max(1, iterations - warmup))
  }, { peak, warmup })

/**
 * Linear decay, peak · (1 − t/T), where t counts the iterations after the warm-up and T is their number. It would reach 0 one iteration
 * after the last. In a run without an end, the rate stays at its peak.
 *
 * @see tinker-cookbook `compute_schedule_lr_multiplier`
 */
export const linear = (options: Options): LearningRate => decayed("linear", options, (share) => 1 - share)

/** Cosine decay, peak · ½(1 + cos(π·t/T)), with t and T as in `linear`. In a run without an end, the rate stays at its peak. */
export const cosine = (options: Options): LearningRate =>
  decayed("cosine", options, (share) => (1 + Math.cos(Math.PI * share)) / 2)

/** The learning rate among the options of an update. */
export interface RateOptions {
  /** A constant rate or a schedule over the run's iterations; default: 1e-4. */
  readonly learningRate?: number | LearningRate
}

/** Converts a number to a constant rate. */
export const from = (rate: number | LearningRate): LearningRate => typeof rate === "number" ? constant(rate) : rate

/** Requires the rate of the first of `iterations` iterations to be a number of at least 0. */
export const check = (rate: LearningRate, iterations: number): Check.Check =>
  Check.option("update.learningRate", rate.at({ iteration: 0, iterations }), Check.number({ least: 0 }))

/** Settings of recipes for the learning rate: its peak, its schedule and the warm-up. */
export const LearningRateSettings = Schema.Struct({
  /** Adam's step size, at its peak. Default: 1e-4. */
  learningRate: Setting.number({ above: 0, default: 1e-4, help: "Adam's step size, at its peak" }),
  /** The learning rate over the run: constant, or falling to 0 linearly or along a cosine. Default: constant. */
  schedule: Setting.choice({
    choices: ["constant", "linear", "cosine"],
    default: "constant",
    help: "The learning rate over the run: constant, or falling to 0 linearly or along a cosine"
  }),
  /** Iterations over which the learning rate rises to its peak. Default: 0 iterations. */
  warmup: Setting.int({
    least: 0,
    default: 0,
    unit: "iterations",
    help: "Iterations over which the learning rate rises to its peak"
  })
})

/** The constant rate of a run that sets none. */
export const defaultRate = Setting.defaults(LearningRateSettings).learningRate

/** The schedule that the settings select. A constant rate has no warm-up. */
export const fromSettings = (
  { learningRate: peak, schedule, warmup }: typeof LearningRateSettings.Type
): LearningRate => {
  switch (schedule) {
    case "constant":
      return constant(peak)
    case "linear":
      return linear({ peak, warmup })
    case "cosine":
      return cosine({ peak, warmup })
  }
}

/** The learning rate in a run's identity: the rate itself if it is constant, otherwise the schedule's name and configuration. */
export const identity = ({ config, name }: LearningRate): Json =>
  name === "constant" ? config["rate"] ?? null : { name, ...config }
