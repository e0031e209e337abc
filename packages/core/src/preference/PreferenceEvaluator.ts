/** Evaluates weights on held-out preferences. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as Proportion from "../evaluate/Proportion.ts"
import * as Statistics from "../records/Statistics.ts"
import * as HeldOut from "../supervised/HeldOut.ts"
import * as DpoLoss from "./DpoLoss.ts"
import * as Preferences from "./Preferences.ts"

/** Options of `make`. */
export interface Options<E, R> {
  /** The evaluator's name, which is the prefix of its metrics, as in `<name>/accuracy`. */
  readonly name: string
  /** Held-out preferences. Every batch is evaluated. */
  readonly dataset: Preferences.Preferences<E, R>
}

/**
 * An evaluator that compares the log-probabilities of chosen and rejected responses. `<name>/margin` is their mean difference in nats. The
 * score, also reported as `<name>/accuracy`, is the fraction of pairs whose chosen response is more likely, with its 95 % interval. DPO
 * increases this margin, times β, relative to the start of the run.
 *
 * @example
 * Dpo.run({ model, dataset: pairs, run: { evaluators: [PreferenceEvaluator.make({ name: "held_out", dataset: pairs })] } })
 */
export const make = <E, R>({ dataset, name }: Options<E, R>): Evaluator<E | TinkerError, R> => ({
  name,
  evaluate: Effect.fn("PreferenceEvaluator.evaluate")(function*(weights: Weights) {
    const batches = (yield* HeldOut.batches(dataset)).map(Preferences.interleaved)
    const margins = DpoLoss.margins(DpoLoss.sequences(batches.flat(), yield* HeldOut.logprobs(weights, batches)))
    if (margins.length === 0) return { name, metrics: HeldOut.named(name, { pairs: 0 }), groups: [] }
    const preferred = margins.filter((margin) => margin > 0).length
    const score = Proportion.wilson(preferred, margins.length)
    const metrics = { margin: Statistics.mean(margins), accuracy: score.value, pairs: margins.length }
    return { name, metrics: HeldOut.named(name, metrics), score, groups: [] }
  })
})
