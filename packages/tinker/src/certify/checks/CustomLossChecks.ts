/** Client-defined losses: the server must run the loss that was sent, whatever names it and its inputs have. */
import { Loss, Tinker } from "@effect-rl/core"
import type { Datum, TrainingClient } from "@effect-rl/core/backend"
import { LossExpression, LossTerm } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

const { add, clamp, div, exp, gt, maximum, mean, minimum, mul, neg, sigmoid, square, sub, sum, where } = LossTerm

type Expression = LossExpression.LossExpression

const scaled = (name: string, factor: number): Expression =>
  LossExpression.make(
    name,
    { parameters: { factor } },
    ({ advantages, logprobs }, parameters) => neg(mul(parameters.factor, advantages, logprobs))
  )

const squared = (name: string): Expression =>
  LossExpression.make(name, {}, ({ logprobs, samplerLogprobs }) => square(sub(logprobs, samplerLogprobs)))

/** A loss with most of the supported operations. */
const rich = (name: string, bound: number): Expression =>
  LossExpression.make(name, { parameters: { bound } }, ({ advantages, logprobs, samplerLogprobs }, parameters) => {
    const ratio = exp(sub(logprobs, samplerLogprobs))
    const clipped = clamp(ratio, { low: div(1, parameters.bound), high: parameters.bound })
    const worst = minimum(mul(ratio, advantages), mul(clipped, advantages))
    const gate = where(gt(advantages, 0), sigmoid(ratio), maximum(ratio, 0.5))
    return sub(sum(mul(gate, square(logprobs))), add(sum(worst), mul(3, mean(logprobs))))
  })

/** The losses in the order in which they are sent. Names recur with other bodies, and bodies recur under other names. */
const expressions: ReadonlyArray<Expression> = [
  scaled("certify", 1),
  scaled("certify", 2.5),
  squared("certify"),
  rich("certify", 1.3),
  rich("certify", 1.7),
  scaled("certify_other", 1),
  scaled("ppo", 0.5),
  squared("cross_entropy"),
  scaled("Certify", -1),
  scaled("certify", 1)
]

const graphDatum = (expression: Expression, datum: Datum.Datum<"PolicyTokens">): TrainingClient.GraphDatum => ({
  modelInput: datum.modelInput,
  targetTokens: datum.inputs.targetTokens,
  inputs: LossExpression.values(expression)(datum)
})

/** Submits the loss. Called only if the server accepts custom losses. */
const submit = (expression: Expression, datum: Datum.Datum<"PolicyTokens">): StateTwins.Submit => (client) =>
  client.forwardBackwardGraph?.([graphDatum(expression, datum)], expression.graph) ?? Effect.never

const evaluated = (expression: Expression, datum: Datum.Datum<"PolicyTokens">, logprobs: Float32Array) =>
  Effect.orDie(Effect.fromResult(LossExpression.evaluate(expression, datum, logprobs)))

const descent = 0.3

export const byContent: Check.Check = {
  theme: "losses",
  name: "a custom loss has its own value and gradient, even if earlier losses had the same name",
  why: "A loss retried with other constants would silently be the old one.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const twins = yield* StateTwins.make
    const probe = yield* Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel, loraRank: 8 }))
    if (probe.forwardBackwardGraph === undefined) return yield* Check.absent("losses are not sent to this server")
    const datum = Examples.drifted(twins.logprobs)
    for (const [at, expression] of expressions.entries()) {
      const { gradient, loss } = yield* evaluated(expression, datum, twins.logprobs)
      const weights = Float32Array.from(gradient, (slope) => -slope)
      const byGradient: StateTwins.Submit = (client) =>
        client.forwardBackward([Examples.weighted(weights)], Loss.crossEntropy)
      const gradNorm = (yield* twins.gradNorm(byGradient)) ?? 1
      const learningRate = descent / (gradNorm * gradNorm)
      const found = yield* twins.moved(submit(expression, datum), learningRate)
      const what = `loss ${at}, "${expression.name}"`
      const sum = found.output.metrics["loss:sum"] ?? NaN
      yield* Check.expectClose(`loss:sum of ${what}`, [sum], [loss], 0.01 + 0.01 * Math.abs(loss))
      yield* StateTwins.expectSameStep(`the step of ${what}`, found, yield* twins.moved(byGradient, learningRate))
    }
  })
}

export const all = [byContent]
