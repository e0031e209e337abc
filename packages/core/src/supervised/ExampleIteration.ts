/** An iteration that takes one optimizer step on a batch of examples. */
import * as AdamParams from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import * as StepMetrics from "../rl/metrics/StepMetrics.ts"
import type * as Pass from "../run/Pass.ts"
import * as Program from "../run/Program.ts"
import type * as SupervisedOptions from "./SupervisedOptions.ts"

/** A batch: the passes of its step, and the metrics computed from their outputs. */
export interface Batch<out E = never> {
  readonly index: number
  readonly data: ReadonlyArray<Datum.Datum<"WeightedTokens">>
  /** The passes of the optimizer step; empty if the batch is empty. */
  readonly passes: ReadonlyArray<Pass.Pass<E>>
  readonly metrics: (outputs: ReadonlyArray<Program.UpdateOutput>) => Readonly<Record<string, number>>
}

/** Makes the iteration; its cursor is the index of the next batch. */
export const make = <E>(
  { adam, iterations, learningRate }: SupervisedOptions.Resolved,
  { data, index, metrics, passes }: Batch<E>
): Program.Iteration<number, E> => {
  const rate = learningRate.at({ iteration: index, iterations })
  return {
    _tag: "Iteration",
    updates: passes.map((pass) => Program.update([pass], AdamParams.fromSettings(adam, rate))),
    report: (outputs) => ({
      cursor: index + 1,
      metrics: {
        "progress/batch": index,
        "optim/lr": rate,
        "tokens/trained": data.reduce((sum, { modelInput }) => sum + modelInput.length, 0),
        ...metrics(outputs),
        ...StepMetrics.updates(outputs)
      }
    })
  }
}
