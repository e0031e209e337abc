/** Metrics that a backend reports of an optimizer step, under names that a run does not use itself. */
import * as Record from "effect/Record"

/** The names of the port, see `OptimStepOutput`. */
const ported: ReadonlyArray<string> = ["grad_norm", "update_norm"]

/** Other metrics get the prefix `service/`, so that a backend's own `reward` is not taken for the run's; NaN and infinite values are left out. */
export const apart = (metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Record.mapKeys(Record.filter(metrics, Number.isFinite), (name) => ported.includes(name) ? name : `service/${name}`)
