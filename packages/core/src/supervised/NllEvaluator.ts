/** Evaluation by the likelihood of held-out examples. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as HeldOut from "./HeldOut.ts"
import * as Nll from "./Nll.ts"
import type { SupervisedDataset } from "./SupervisedDataset.ts"

/** The evaluator's name and its data. */
export interface Options<E, R> {
  readonly name: string
  /** Held-out examples; every batch is read. */
  readonly dataset: SupervisedDataset<E, R>
}

/**
 * The mean negative log-likelihood per trained token, in nats, as `<name>/nll`, by a forward pass, or by the log-probabilities of
 * prompts where the weights can only be sampled from.
 *
 * @example
 * const evaluator = NllEvaluator.make({ name: "held_out", dataset: examples })
 * Supervised.run({ model, dataset: examples, run: { evalEvery: 5, evaluators: [evaluator] } })
 *
 * @see tinker-cookbook `NLLEvaluator`
 */
export const make = <E, R>({ dataset, name }: Options<E, R>): Evaluator<E | TinkerError, R> => ({
  name,
  evaluate: Effect.fn("NllEvaluator.evaluate")(function*(weights: Weights) {
    const batches = yield* HeldOut.batches(dataset)
    const data = batches.flat()
    const sums = Nll.sums(data, yield* HeldOut.logprobs(weights, batches))
    const metrics = { ...Nll.mean(sums), target_tokens: sums.targets, datums: data.length }
    return { name, metrics: HeldOut.named(name, metrics), groups: [] }
  })
})
