/** Losses about the policy before the first update of an iteration. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as LossExpression from "../../losses/LossExpression.ts"
import * as Loss from "../../model/Loss.ts"
import * as Pass from "../../run/Pass.ts"
import { expressed, type Objective } from "./Definition.ts"

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
    const submitted = yield* Effect.forEach(parts, (part) => training.forward(part, Loss.importanceSampling))
    const outputs = yield* Effect.forEach(submitted, ({ await: output }) => output)
    return Arr.zipWith(parts, outputs, (part, { logprobs }) => {
      const examples = Arr.map(part, (datum, index) => ({
        ...datum,
        extras: { proximalLogprobs: logprobs[index] ?? new Float32Array() }
      }))
      return Pass.expression(examples, expression)
    })
  })
})
