/**
 * One forward and backward pass of an update.
 *
 * @example
 * const passes = Pass.ofArray(data, Loss.importanceSampling)
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import * as LossSubmission from "../backend/LossSubmission.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { CustomLoss, TrainingClient } from "../backend/TrainingClient.ts"
import type * as LossExpression from "../losses/LossExpression.ts"
import type * as Datum from "../model/Datum.ts"
import type * as Loss from "../model/Loss.ts"

/** Data and a loss; the gradients of all passes of an update add up. */
export interface Pass<out E = never, out R = never> {
  /** The loss's name, for records. */
  readonly loss: string
  readonly data: ReadonlyArray<Datum.Datum<Datum.Kind>>
  /** Positions of all its datums. */
  readonly tokens: number
  /** Queues the pass; returns when the backend has accepted it, with how the loss was submitted. */
  readonly submit: (client: TrainingClient) => Effect.Effect<LossSubmission.Submitted<TinkerError | E>, TinkerError, R>
}

const sizes = (data: ReadonlyArray<Datum.Datum<Datum.Kind>>) => ({
  data,
  tokens: data.reduce((sum, { modelInput }) => sum + modelInput.length, 0)
})

/** A pass with one of the backend's own losses. Its log-probabilities may be NaN where the loss reads none. */
export const make = <K extends Datum.Kind>(
  data: NonEmptyReadonlyArray<Datum.Datum<NoInfer<K>>>,
  loss: Loss.Loss<K>
): Pass => ({
  ...sizes(data),
  loss: loss.name,
  submit: (client) => LossSubmission.by("name")(client.forwardBackward(data, loss, { logprobs: "counted" }))
})

/** A pass with a loss expression: by name, by its graph or in two passes, whichever the backend has first. */
export const expression = <X extends LossExpression.Extras>(
  data: NonEmptyReadonlyArray<LossExpression.Example<X>>,
  loss: LossExpression.LossExpression<X>
): Pass => ({
  ...sizes(data),
  loss: loss.name,
  submit: (client) => LossSubmission.submit(client, data, loss)
})

/** A pass with a loss that is computed in this process, across datums if need be. */
export const custom = <E, R>(
  name: string,
  data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
  loss: CustomLoss<E, R>
): Pass<E, R> => ({
  ...sizes(data),
  loss: name,
  submit: (client) => LossSubmission.by("two-pass")(client.forwardBackwardCustom(data, loss))
})

/** A pass over the data, or no pass if there are no data. */
export const ofArray = <K extends Datum.Kind>(
  data: ReadonlyArray<Datum.Datum<NoInfer<K>>>,
  loss: Loss.Loss<K>
): ReadonlyArray<Pass> => Arr.isReadonlyArrayNonEmpty(data) ? [make(data, loss)] : []
