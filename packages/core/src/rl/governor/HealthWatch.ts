/** The end of a run whose health is bad. */
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Program from "../../run/Program.ts"
import * as Health from "../Health.ts"
import type { Governor } from "./GovernorSettings.ts"

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
