/** Held-out data, which evaluators read in full. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { Weights } from "../backend/Weights.ts"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"

interface Batches<A, E, R> {
  readonly length: number
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<A>, E, R>
}

/** Every batch of a dataset, in order, made with seed 0. */
export const batches = <A, E, R>({ batch, length }: Batches<A, E, R>) =>
  Effect.forEach(Array.from({ length }, (_, index) => index), (index) => batch(index, 0))

/** The log-probabilities of the targets, `[T]` per datum. All passes are submitted before the first is awaited. */
export const logprobs = Effect.fnUntraced(function*(
  { training }: Weights,
  batches: ReadonlyArray<ReadonlyArray<Datum.Datum<"WeightedTokens">>>
) {
  const pending = yield* Effect.forEach(
    batches.filter(Arr.isReadonlyArrayNonEmpty),
    (data) => training.forward(data, Loss.crossEntropy)
  )
  const outputs = yield* Effect.forEach(pending, (pass) => pass.await)
  return outputs.flatMap(({ logprobs }) => logprobs)
})

/** The metrics under the names that an evaluator reports: `<evaluator>/<metric>`. */
export const named = (evaluator: string, metrics: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(metrics).map(([metric, value]) => [`${evaluator}/${metric}`, value]))
