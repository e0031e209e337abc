/**
 * Slows down or ends a run whose health is bad: by a lower learning rate, or by stopping. Off unless its settings are given.
 *
 * @example
 * Rl.run({ model, dataset, update: { governor: { essBase: 0.8, stopOn: "optim/effective_sample_size" } } })
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ForwardBackwardOutput } from "../backend/TrainingClient.ts"
import * as Suggestion from "../chat/Suggestion.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import { InvalidOption } from "../record/InvalidOption.ts"
import type { JsonObject } from "../record/Json.ts"
import * as Setting from "../record/Setting.ts"
import type * as Program from "../run/Program.ts"
import * as Health from "./Health.ts"
import * as PolicyShift from "./PolicyShift.ts"

/** The settings of a governor. */
export const GovernorSettings = Schema.Struct({
  essBase: Setting.number({
    above: 0,
    most: 1,
    help: "Effective sample size, as a share of an update's sequences, below which the learning rate is scaled down; "
      + "never unless given",
    identity: true
  }),
  stopOn: Setting.text({
    help: "Metrics, separated by commas, that end the run where they leave their healthy range; none unless given"
  })
})
export interface GovernorSettings extends Schema.Codec.Encoded<typeof GovernorSettings> {}

/** A metric left its healthy range, and the run was to end there. */
export class Unhealthy extends Schema.TaggedError<Unhealthy>()("Unhealthy", {
  iteration: Schema.Int,
  metric: Schema.String,
  value: Schema.Number,
  /** The healthy range, in words. */
  expected: Schema.String,
  advice: Schema.String
}) {
  override get message() {
    return `iteration ${this.iteration}: ${this.metric} is ${this.value}, healthy is ${this.expected}. ${this.advice}`
  }
}

/** The governor of a run, with its settings read. */
export interface Governor {
  readonly essBase: number | undefined
  readonly stopOn: ReadonlyArray<string>
}

/** Signs of drift are left out: they describe the whole run, not one iteration. */
const stoppable = Health.signs.filter(({ healthy }) => healthy !== undefined).map(({ metric }) => metric).filter((
  metric
) => !metric.startsWith("drift/"))

/** Fails where a setting is not accepted, or a metric has no healthy range. */
export const resolve = Effect.fnUntraced(function*(
  settings: GovernorSettings
): Effect.fn.Return<Governor, InvalidOption> {
  const { essBase, stopOn = "" } = yield* Setting.decode(GovernorSettings, settings, "update.governor")
  const metrics = stopOn.split(",").map((name) => name.trim()).filter((name) => name !== "")
  const unknown = metrics.find((name) => !stoppable.includes(name))
  if (unknown !== undefined) {
    const expected = `metrics with a healthy range: ${Suggestion.describe(unknown, stoppable)}`
    return yield* new InvalidOption({ field: "update.governor.stopOn", found: unknown, expected })
  }
  return { essBase, stopOn: metrics }
})

/** The settings that must be equal for a run to be resumed: those that decide its weights. */
export const identity = ({ essBase }: Governor): JsonObject =>
  essBase === undefined ? {} : { governor: { ess_base: essBase } }

/**
 * √min(1, ρ/base), with ρ = (Σ w)²/(n·Σ w²) the effective sample size of an update's n sequences as a share of them, w the product of a
 * sequence's importance ratios, before the optimizer step that it is for (arXiv:2602.17616, with its rule for Adam: the root).
 *
 * @see VCPO `ess_scaling`
 */
export const scale = (effectiveShare: number, base: number): number => Math.sqrt(Math.min(1, effectiveShare / base))

/** The rate of an update by its own data; undefined for a governor that leaves the rate alone. */
export const rate = ({ essBase }: Governor, data: () => ReadonlyArray<TrainingDatum>) => {
  if (essBase === undefined) return undefined
  return (adam: AdamParams, passes: ReadonlyArray<ForwardBackwardOutput>): AdamParams => {
    const logprobs = passes.flatMap(({ logprobs }) => logprobs)
    const share = PolicyShift.effectiveSequences(data(), logprobs) ?? 1
    return { ...adam, learningRate: adam.learningRate * scale(share, essBase) }
  }
}

/** A rate that was scaled below this share is reported as a warning. */
const remarkable = 0.5

/** Reports how the governor scaled an iteration's rates, for which the schedule gave `learningRate`. */
export const report = (
  { essBase }: Governor,
  iteration: number,
  learningRate: number,
  outputs: ReadonlyArray<Program.UpdateOutput>
): Pick<Program.Report, "metrics" | "notes"> => {
  if (essBase === undefined || outputs.length === 0 || learningRate === 0) return { metrics: {}, notes: [] }
  const least = Math.min(...outputs.map(({ adam }) => adam.learningRate / learningRate))
  const message = `the governor scaled the learning rate of iteration ${iteration} to ${
    (100 * least).toFixed(0)
  } %: few sequences decide its update`
  return {
    metrics: { "governor/learning_rate_scale": least },
    notes: least < remarkable ? [{ entry: { _tag: "Warning", message } }] : []
  }
}

const inWords = ({ least, most }: Health.Range) =>
  [...(least === undefined ? [] : [`from ${least}`]), ...(most === undefined ? [] : [`up to ${most}`])].join(" ")

const verdict = (stopOn: ReadonlyArray<string>, iteration: number, metrics: Program.Report["metrics"]) => {
  const concern = Health.concerns(metrics).find(({ sign }) => stopOn.includes(sign.metric))
  if (concern === undefined) return undefined
  const { sign: { advice = "", healthy = {}, metric }, value } = concern
  return new Unhealthy({ iteration, metric, value, expected: inWords(healthy), advice })
}

/**
 * The program, failing with `Unhealthy` after the first iteration whose metrics leave one of the watched ranges. That iteration is
 * recorded and saved first.
 */
export const watch = <Cursor, E, R>(
  { stopOn }: Governor,
  program: Program.Program<Cursor, E, R>
): Program.Program<Cursor, E | Unhealthy, R> => {
  if (stopOn.length === 0) return program
  const watched = (iteration: Program.Iteration<Cursor, E, R>): Program.Iteration<Cursor, E | Unhealthy, R> => ({
    ...iteration,
    get cursor() {
      return iteration.cursor
    },
    report: (outputs) => {
      const report = iteration.report(outputs)
      const failure = verdict(stopOn, report.metrics["progress/batch"] ?? 0, report.metrics)
      if (failure === undefined) return report
      const message = `the governor ends the run: ${failure.message}`
      return { ...report, failure, notes: [...report.notes ?? [], { entry: { _tag: "Warning", message } }] }
    }
  })
  return {
    ...program,
    iterations: (from, weights, until) =>
      Stream.map(
        program.iterations(from, weights, until),
        (element) => element._tag === "Iteration" ? watched(element) : element
      )
  }
}
