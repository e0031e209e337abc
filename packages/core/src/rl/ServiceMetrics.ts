/** Metrics that a backend reports of an optimizer step, under names that a run does not use itself. */
import * as Record from "effect/Record"

/** The names of the port, see `OptimStepOutput`. */
const ported: ReadonlyArray<string> = ["grad_norm", "update_norm"]

/** Others get the prefix `service/`, so that no backend can pass off its own `reward` as the run's; what is not a number is left out. */
export const apart = (metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Record.mapKeys(Record.filter(metrics, Number.isFinite), (name) => ported.includes(name) ? name : `service/${name}`)
