/** Evaluation by the log-likelihood of held-out examples. */
import * as Effect from "effect/Effect"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import type { Evaluator } from "../evaluate/Evaluator.ts"
import * as BitsPerByte from "./BitsPerByte.ts"
import * as HeldOut from "./HeldOut.ts"
import * as Nll from "./Nll.ts"
import type { SupervisedDataset } from "./SupervisedDataset.ts"

/** The evaluator's name, its data and an optional tokenizer. */
export interface Options<E, R> {
  /** The name of the evaluation in records and metrics. */
  readonly name: string
  /** Held-out examples; all batches are read. */
  readonly dataset: SupervisedDataset<E, R>
  /** The tokenizer of the examples, if bits per byte should be measured too. */
  readonly tokenizer?: Tokenizer
}

/**
 * Measures the weighted mean negative log-likelihood of the target tokens in nats, as `<name>/nll`, and with a tokenizer also
 * `<name>/bits_per_byte`. Counts target tokens and datums as `<name>/target_tokens` and `<name>/datums`. Uses a forward pass, or prompt
 * log-probabilities if the weights can only be sampled from.
 *
 * @example
 * const evaluator = NllEvaluator.make({ name: "held_out", dataset: examples, tokenizer: model.tokenizer })
 * Supervised.run({ model, dataset: examples, run: { evalEvery: 5, evaluators: [evaluator] } })
 *
 * @see tinker-cookbook `NLLEvaluator`
 */
export const make = <E, R>({ dataset, name, tokenizer }: Options<E, R>): Evaluator<E | TinkerError, R> => ({
  name,
  evaluate: Effect.fn("NllEvaluator.evaluate")(function*(weights: Weights) {
    const batches = yield* HeldOut.batches(dataset)
    const data = batches.flat()
    const logprobsDT = yield* HeldOut.logprobs(weights, batches)
    const sums = Nll.sums(data, logprobsDT)
    const metrics = {
      ...Nll.mean(sums),
      ...(tokenizer === undefined ? {} : BitsPerByte.mean(BitsPerByte.sums(data, logprobsDT, tokenizer))),
      target_tokens: sums.targets,
      datums: data.length
    }
    return { name, metrics: HeldOut.named(name, metrics), groups: [] }
  })
})
