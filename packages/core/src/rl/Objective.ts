/**
 * The objective that an update minimises over the tokens that received credit.
 *
 * @example
 * Rl.run({ model, dataset, update: { loss: Objective.withObservations({ weight: 0.1 }) } })
 */
import * as Arr from "effect/Array"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { CustomLoss } from "../backend/TrainingClient.ts"
import type { Weights } from "../backend/Weights.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import * as LossExpression from "../losses/LossExpression.ts"
import * as PolicyLoss from "../losses/PolicyLoss.ts"
import * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type { JsonObject } from "../records/Json.ts"
import * as Pass from "../run/Pass.ts"
import * as Program from "../run/Program.ts"

/**
 * The number of optimizer steps of the weights that sampled each target, `[T]`; −1 for tokens that the policy did not write. The policy's
 * tokens are those with a non-zero log-probability or in the mask.
 */
const samplerStepsOf = ({ inputs, origin: { samplerStep }, samplerSteps }: TrainingDatum): Int32Array => {
  const { logprobs, mask } = inputs
  return samplerSteps
    ?? Int32Array.from(logprobs, (logprob, t) => logprob === 0 && mask[t] === 0 ? -1 : samplerStep)
}

/** 1 at positions whose input is an image, otherwise 0; `[length + 1]`. */
const images = ({ chunks, length }: ModelInput.ModelInput): Uint8Array => {
  const isImage = new Uint8Array(length + 1)
  let at = 0
  for (const chunk of chunks) {
    const size = chunk._tag === "Image" ? chunk.expectedTokens : chunk.tokens.length
    if (chunk._tag === "Image") isImage.fill(1, at, at + size)
    at += size
  }
  return isImage
}

/**
 * 1 for targets that are observations, otherwise 0; `[T]`. An observation is a text token that follows the policy's first token and that
 * the policy did not write. The policy's tokens are those with a non-zero log-probability or in the mask.
 */
const observationMask = ({ inputs: { logprobs, mask }, modelInput }: TrainingDatum): Float32Array => {
  const isImage = images(modelInput)
  const first = logprobs.findIndex((logprob) => logprob !== 0)
  return mask.map((trained, t) =>
    first >= 0 && t > first && trained === 0 && logprobs[t] === 0 && isImage[t + 1] === 0 ? 1 : 0
  )
}

/** Whether a loss replaces the importance ratio of a token by its bound, given the ratio and the token's advantage. */
export type IsClipped = (ratio: number, advantage: number) => boolean

/**
 * Makes the test for clipped ratios. PPO clips only on the side that lowers the objective, other clipping losses on both. Undefined for a
 * loss without two bounds, and for GSPO, which clips sequence ratios instead of token ratios.
 */
const clipping = (loss: Loss.Loss<"PolicyTokens">): IsClipped | undefined => {
  const { clip_high_threshold: high, clip_low_threshold: low } = loss.config
  if (loss.name === "gspo" || low === undefined || high === undefined) return undefined
  return loss.name === "ppo"
    ? (ratio, advantage) => (advantage > 0 && ratio > high) || (advantage < 0 && ratio < low)
    : (ratio) => ratio > high || ratio < low
}

/** The data of an update. */
type Data = NonEmptyReadonlyArray<TrainingDatum>

/** A loss with the name and the configuration that identify it in a run's records. */
export interface Objective<out E = never, out R = never> {
  readonly name: string
  readonly config: JsonObject
  /**
   * Makes one pass per update of the iteration, over that update's data, in order. `weights` are the weights before the iteration's first
   * update.
   */
  readonly passes: (
    parts: ReadonlyArray<Data>,
    weights: Weights
  ) => Effect.Effect<ReadonlyArray<Pass.Pass>, TinkerError | E, R>
  /** The loss's test for clipped ratios; absent if the loss does not clip ratios, or if its clipping is unknown. */
  readonly isClipped?: IsClipped | undefined
}

/** The passes of a loss that reads only its own update's data. */
const each = (pass: (data: Data) => Pass.Pass): Objective["passes"] => (parts) => Effect.sync(() => parts.map(pass))

const named = (loss: Loss.Loss<"PolicyTokens">): Omit<Objective, "passes"> => ({
  name: loss.name,
  config: loss.config,
  isClipped: clipping(loss)
})

/** An expression with the name of a backend loss is identified by that name; otherwise its formula is part of its identity. */
const expressed = <X extends LossExpression.Extras>(
  expression: LossExpression.LossExpression<X>
): Omit<Objective, "passes"> =>
  expression.equivalent === undefined
    ? {
      name: expression.name,
      config: { ...expression.parameters, formula: LossExpression.formula(expression) }
    }
    : named(expression.equivalent)

/** Makes an objective from a backend loss or an expression. */
export const from = <E, R>(
  loss: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression | Objective<E, R>
): Objective<E, R> => {
  if ("passes" in loss) return loss
  return "scope" in loss
    ? { ...expressed(loss), passes: each((data) => Pass.expression(data, loss)) }
    : { ...named(loss), passes: each((data) => Pass.make(data, loss)) }
}

/**
 * An objective from an expression that needs more than the datum. `examples` returns an update's data with their extras, in order. It may
 * query other models, or the weights before the iteration's first update.
 *
 * @example
 * const decoupled = Objective.reading(PolicyLoss.decoupled(), (data, weights) =>
 *   Effect.map(weights.sampler, ({ step }) => Objective.interpolated(data, step)))
 */
export const reading = <X extends LossExpression.Extras, E, R>(
  expression: LossExpression.LossExpression<X>,
  examples: (
    data: Data,
    weights: Weights
  ) => Effect.Effect<NonEmptyReadonlyArray<LossExpression.Example<X>>, E, R | Scope.Scope>
): Objective<E, Exclude<R, Scope.Scope>> => ({
  ...expressed(expression),
  passes: (parts, weights) =>
    Effect.scoped(Effect.forEach(
      parts,
      (data) => Effect.map(examples(data, weights), (read) => Pass.expression(read, expression))
    ))
})

/**
 * A loss over all datums of an update, computed in this process between a forward pass and a backward pass. `lossOf` receives the datums
 * and returns a function of their log-probabilities under the current weights.
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

/** Adds the extras of `PolicyLoss.withObservations` to an update's data. */
export const observed = (data: Data) =>
  PolicyLoss.countTokens(Arr.map(data, (datum) => [datum, observationMask(datum)]))

/**
 * RL on the action tokens plus cross entropy on the responses of tools and environments, each divided by its number of tokens in the
 * update.
 *
 * @see `PolicyLoss.withObservations`
 */
export const withObservations = (options: PolicyLoss.ObservationOptions = {}): Objective =>
  reading(PolicyLoss.withObservations(options), (data) => Effect.sync(() => observed(data)))

/** Adds the extras of `PolicyLoss.decoupled` to an update's data; `step` is the number of optimizer steps before the update. */
export const interpolated = (data: Data, step: number) =>
  Arr.map(data, (datum) => ({
    ...datum,
    extras: { alpha: PolicyLoss.interpolation(samplerStepsOf(datum), step) }
  }))

/**
 * `PolicyLoss.decoupled` with an interpolated proximal policy: for each token, it lies between the weights that sampled the token and the
 * current weights, according to their optimizer steps.
 */
export const decoupled = (options: PolicyLoss.Clip = {}): Objective => {
  const expression = PolicyLoss.decoupled(options)
  return {
    ...expressed(expression),
    passes: Effect.fnUntraced(function*(parts, { sampler }) {
      const { step } = yield* sampler
      return parts.map((part, index) => Pass.expression(interpolated(part, step + index), expression))
    }, Effect.scoped)
  }
}

/**
 * An objective from an expression that reads a proximal policy in addition to the current policy and the sampler, such as
 * `PolicyLoss.truncated` or `PolicyLoss.masked`. The proximal log-probabilities come from a forward pass with the weights before the
 * iteration's first update.
 *
 * @example
 * Rl.run({ model, dataset, update: { loss: Objective.proximal(PolicyLoss.truncated()), substeps: 4 } })
 */
export const proximal = (
  expression: LossExpression.LossExpression<{ readonly proximalLogprobs: "token" }>
): Objective => ({
  ...expressed(expression),
  passes: Effect.fnUntraced(function*(parts, { training }) {
    const submitted = yield* Effect.forEach(parts, (part) =>
      Effect.map(
        training.forward(part, Loss.importanceSampling),
        (pending) => Effect.map(pending.await, (output) => Program.answers(part, output))
      ))
    const logprobs = Program.byOrigin((yield* Effect.all(submitted)).flat())
    return Arr.map(parts, (part) => {
      const examples = Arr.map(part, (datum) => ({
        ...datum,
        extras: { proximalLogprobs: logprobs(datum) ?? new Float32Array() }
      }))
      return Pass.expression(examples, expression)
    })
  })
})

export { topK } from "./TopKDistillation.ts"
export type { Options as TopKOptions } from "./TopKDistillation.ts"
