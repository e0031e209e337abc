/** What an update minimises: a loss with its passes over the data of each update. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { CustomLoss } from "../../backend/TrainingClient.ts"
import type { Weights } from "../../backend/Weights.ts"
import type { TrainingDatum } from "../../learn/TrainingData.ts"
import * as LossExpression from "../../losses/LossExpression.ts"
import * as Datum from "../../model/Datum.ts"
import type * as Loss from "../../model/Loss.ts"
import type { JsonObject } from "../../records/Json.ts"
import * as Pass from "../../run/Pass.ts"
import { clipping, type IsClipped } from "./Clipping.ts"

/** The data of an update. */
export type Data = NonEmptyReadonlyArray<TrainingDatum>

/** A loss with the name and configuration that identify it in a run's records. */
export interface Objective {
  readonly name: string
  readonly config: JsonObject
  /** The passes over the data of an iteration's updates, one for each, in order. The weights are those before the first update. */
  readonly passes: (
    parts: ReadonlyArray<Data>,
    weights: Weights
  ) => Effect.Effect<ReadonlyArray<Pass.Pass>, TinkerError>
  /** Absent where the loss clips no ratio, or is not known to. */
  readonly isClipped?: IsClipped | undefined
}

/** The passes of a loss that reads the data of its own update alone. */
const each = (pass: (data: Data) => Pass.Pass): Objective["passes"] => (parts) => Effect.sync(() => parts.map(pass))

const named = (loss: Loss.Loss<"PolicyTokens">): Omit<Objective, "passes"> => ({
  name: loss.name,
  config: loss.config,
  isClipped: clipping(loss)
})

/** An expression stands for the backend's own loss of that name, if there is one; otherwise its formula is part of its identity. */
export const expressed = <X extends LossExpression.Extras>(
  expression: LossExpression.LossExpression<X>
): Omit<Objective, "passes"> =>
  expression.equivalent === undefined
    ? {
      name: expression.name,
      config: { ...expression.parameters, formula: LossExpression.formula(expression) }
    }
    : named(expression.equivalent)

/** The objective of a loss of the backend's or of an expression. */
export const from = (
  loss: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression | Objective
): Objective => {
  if ("passes" in loss) return loss
  return "scope" in loss
    ? { ...expressed(loss), passes: each((data) => Pass.expression(data, loss)) }
    : { ...named(loss), passes: each((data) => Pass.make(data, loss)) }
}

/** An expression that reads more than the datum: `examples` gives the data of an update with their extras, in order. */
export const reading = <X extends LossExpression.Extras>(
  expression: LossExpression.LossExpression<X>,
  examples: (data: Data) => NonEmptyReadonlyArray<LossExpression.Example<X>>
): Objective => ({
  ...expressed(expression),
  passes: each((data) => Pass.expression(examples(data), expression))
})

/**
 * A loss across the datums of an update, computed in this process between two passes: `lossOf` gets the datums and returns a function of
 * their log-probabilities under the weights that are trained.
 */
export const custom = (
  name: string,
  config: JsonObject,
  lossOf: (data: Data) => CustomLoss
): Objective => ({
  name,
  config,
  passes: each((data) =>
    Pass.custom(
      name,
      Arr.map(data, ({ inputs: { advantages, targetTokens }, modelInput, origin }) => ({
        ...Datum.weightedTokens(modelInput, { targetTokens, weights: advantages }),
        origin
      })),
      lossOf(data)
    )
  )
})
