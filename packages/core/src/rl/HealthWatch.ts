/**
 * Stops a run if a health metric leaves its healthy range. By default, no metric stops the run.
 *
 * @example
 * Rl.run({ model, dataset, health: { stopOn: "optim/effective_sample_size" } })
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Program from "../run/Program.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as Suggestion from "../settings/Suggestion.ts"
import * as Health from "./metrics/Health.ts"

/** Which health metrics stop the run. */
export const HealthSettings = Schema.Struct({
  /** Metrics, separated by commas, that end the run when they leave their healthy range; none unless given. */
  stopOn: Setting.text({
    help: "Metrics, separated by commas, that end the run when they leave their healthy range; none unless given"
  })
}).annotate({ title: "Health" })
export interface HealthSettings extends Schema.Codec.Encoded<typeof HealthSettings> {}

/** The run ended because a metric that `stopOn` names left its healthy range. `iteration` counts from 0. */
export class Unhealthy extends Schema.TaggedError<Unhealthy>()("Unhealthy", {
  iteration: Schema.Int,
  metric: Schema.String,
  value: Schema.Number,
  /** The metric's healthy range, as text. */
  expected: Schema.String,
  advice: Schema.String
}) {
  override get message() {
    return `iteration ${
      this.iteration + 1
    }: ${this.metric} is ${this.value}, healthy is ${this.expected}. ${this.advice}`
  }
}

/** The names of the metrics that can stop a run. Drift metrics cannot, because they describe the whole run, not one iteration. */
const stoppable = Health.signs.flatMap(({ healthy, metric }) =>
  healthy === undefined || metric.startsWith("drift/") ? [] : [metric]
)

/**
 * Parses the names of the metrics that stop a run; empty if there are none. Fails if a name is not a metric with a healthy range, or is a
 * drift metric.
 */
export const resolve = Effect.fnUntraced(function*(
  settings: HealthSettings
): Effect.fn.Return<ReadonlyArray<string>, InvalidOption> {
  const { stopOn = "" } = yield* Setting.decode(HealthSettings, settings, "health")
  const metrics = stopOn.split(",").map((name) => name.trim()).filter((name) => name !== "")
  const unknown = metrics.find((name) => !stoppable.includes(name))
  if (unknown === undefined) return metrics
  const expected = `metrics with a healthy range: ${Suggestion.describe(unknown, stoppable)}`
  return yield* new InvalidOption({ field: "health.stopOn", found: unknown, expected })
})

const inWords = ({ least, most }: Health.Range) =>
  [...(least === undefined ? [] : [`from ${least}`]), ...(most === undefined ? [] : [`up to ${most}`])].join(" ")

const verdict = (stopOn: ReadonlyArray<string>, iteration: number, metrics: Readonly<Record<string, number>>) => {
  const concern = Health.concerns(metrics).find(({ sign }) => stopOn.includes(sign.metric))
  if (concern === undefined) return undefined
  const { sign: { advice = "", healthy = {}, metric }, value } = concern
  return new Unhealthy({ iteration, metric, value, expected: inWords(healthy), advice })
}

/**
 * Makes a program fail with `Unhealthy` after the first iteration in which a metric of `stopOn` is outside its healthy range. The iteration
 * is recorded and a checkpoint saved before the run fails. Returns the same program if `stopOn` is empty.
 */
export const watch = <Cursor, E, R>(
  stopOn: ReadonlyArray<string>,
  program: Program.Program<Cursor, E, R>
): Program.Program<Cursor, E | Unhealthy, R> => {
  if (stopOn.length === 0) return program
  const watched = (made: Program.Iteration<Cursor, E, R>): Program.Iteration<Cursor, E | Unhealthy, R> => ({
    ...made,
    report: (outputs, iteration) => {
      const report = made.report(outputs, iteration)
      const failure = verdict(stopOn, iteration, report.metrics)
      if (failure === undefined) return report
      const message = `stopOn ends the run: ${failure.message}`
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
