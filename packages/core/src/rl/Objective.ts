/**
 * What an update minimises over the tokens that credit was given for.
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
 * Optimizer steps behind the weights that sampled each target `[T]`; −1 where the policy did not write it. A token of the policy has a
 * log-probability even where its turn is not trained on.
 */
const samplerStepsOf = ({ inputs, origin: { samplerStep }, samplerSteps }: TrainingDatum): Int32Array => {
  const { logprobs, mask } = inputs
  return samplerSteps
    ?? Int32Array.from(logprobs, (logprob, t) => logprob === 0 && mask[t] === 0 ? -1 : samplerStep)
}

/** 1 at positions whose input is an image. */
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
 * 1 on the targets `[T]` that are observations: text after the first action that the policy did not write itself. A token of the policy
 * has a log-probability even where its turn is not trained on.
 */
const observationMask = ({ inputs: { logprobs, mask }, modelInput }: TrainingDatum): Float32Array => {
  const isImage = images(modelInput)
  const first = logprobs.findIndex((logprob) => logprob !== 0)
  return mask.map((trained, t) =>
    first >= 0 && t > first && trained === 0 && logprobs[t] === 0 && isImage[t + 1] === 0 ? 1 : 0
  )
}

/** Whether a loss uses its bound in place of a token's importance ratio. */
export type IsClipped = (ratio: number, advantage: number) => boolean

/** PPO clips only on the side where that lowers the objective; GSPO clips the ratio of a sequence, not of a token. */
const clipping = (loss: Loss.Loss<"PolicyTokens">): IsClipped | undefined => {
  const { clip_high_threshold: high, clip_low_threshold: low } = loss.config
  if (loss.name === "gspo" || low === undefined || high === undefined) return undefined
  return loss.name === "ppo"
    ? (ratio, advantage) => (advantage > 0 && ratio > high) || (advantage < 0 && ratio < low)
    : (ratio) => ratio > high || ratio < low
}

/** The data of an update. */
type Data = NonEmptyReadonlyArray<TrainingDatum>

/** A loss with the name and configuration that identify it in a run's records. */
export interface Objective<out E = never, out R = never> {
  readonly name: string
  readonly config: JsonObject
  /** The passes over the data of an iteration's updates, one for each, in order. The weights are those before the first update. */
  readonly passes: (
    parts: ReadonlyArray<Data>,
    weights: Weights
  ) => Effect.Effect<ReadonlyArray<Pass.Pass>, TinkerError | E, R>
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
const expressed = <X extends LossExpression.Extras>(
  expression: LossExpression.LossExpression<X>
): Omit<Objective, "passes"> =>
  expression.equivalent === undefined
    ? {
      name: expression.name,
      config: { ...expression.parameters, formula: LossExpression.formula(expression) }
    }
    : named(expression.equivalent)

/** The objective of a loss of the backend's or of an expression. */
export const from = <E, R>(
  loss: Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression | Objective<E, R>
): Objective<E, R> => {
  if ("passes" in loss) return loss
  return "scope" in loss
    ? { ...expressed(loss), passes: each((data) => Pass.expression(data, loss)) }
    : { ...named(loss), passes: each((data) => Pass.make(data, loss)) }
}

/**
 * An expression that reads more than the datum: `examples` gives the data of an update with their extras, in order. It may ask other
 * models, or the weights as they are before the iteration's first update.
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

/** The data of an update with the extras of `PolicyLoss.withObservations`. */
export const observed = (data: Data) =>
  PolicyLoss.countTokens(Arr.map(data, (datum) => [datum, observationMask(datum)]))

/**
 * RL on the action tokens and cross entropy on what tools and environments answered, each divided by the number of its tokens in
 * the update.
 *
 * @see `PolicyLoss.withObservations`
 */
export const withObservations = (options: PolicyLoss.ObservationOptions = {}): Objective =>
  reading(PolicyLoss.withObservations(options), (data) => Effect.sync(() => observed(data)))

/** The data of an update with the extras of `PolicyLoss.decoupled`, given the optimizer steps before it. */
export const interpolated = (data: Data, step: number) =>
  Arr.map(data, (datum) => ({
    ...datum,
    extras: { alpha: PolicyLoss.interpolation(samplerStepsOf(datum), step) }
  }))

/**
 * `PolicyLoss.decoupled`: the proximal policy of a token lies between the weights that sampled it and those that are trained, by their
 * optimizer steps.
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
 * An expression that reads a proximal policy beside the current one and the sampler's, such as `PolicyLoss.truncated` and
 * `PolicyLoss.masked`: the weights before the first update of the iteration, by a forward pass over its data.
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
