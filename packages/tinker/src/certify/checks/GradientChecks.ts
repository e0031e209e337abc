import { Loss, PolicyLoss } from "@effect-rl/core"
import { LossExpression } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as StateTwins from "../StateTwins.ts"

const why = "A gradient that is scaled or clipped by mistake changes what is learned, and no curve shows it."

/** Target decrease of the loss by one step: far above rounding, but small enough that the loss is nearly linear along the step. */
const descent = 0.3

/** The squared gradient norm of a pass, from a step of length zero. */
const squaredNorm = Effect.fnUntraced(function*(twins: StateTwins.StateTwins, submit: StateTwins.Submit) {
  const gradNorm = yield* twins.gradNorm(submit)
  if (gradNorm === undefined) {
    return yield* Check.absent("optim_step does not report grad_norm, without which the length of a step is unknown")
  }
  yield* Check.expect(gradNorm > 0, "a gradient", `a grad_norm of ${gradNorm}`)
  return gradNorm * gradNorm
})

/** Compares a named policy loss with a cross entropy whose weights are its negative gradient, computed in float64. */
const ofLoss = (
  loss: Loss.Loss<"PolicyTokens">,
  expression: LossExpression.LossExpression
): Check.Check => ({
  theme: "gradients",
  name: `${loss.name} has the value and the gradient of its formula in float64`,
  why,
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const datum = Examples.drifted(twins.logprobs)
    const { gradient, loss: value } = yield* Effect.orDie(
      Effect.fromResult(LossExpression.evaluate(expression, datum, twins.logprobs))
    )
    const byName: StateTwins.Submit = (client) => client.forwardBackward([datum], loss)
    const weights = Float32Array.from(gradient, (slope) => -slope)
    const byGradient: StateTwins.Submit = (client) =>
      client.forwardBackward([Examples.weighted(weights)], Loss.crossEntropy)
    const learningRate = descent / (yield* squaredNorm(twins, byGradient))
    const found = yield* twins.moved(byName, learningRate)
    const expected = yield* twins.moved(byGradient, learningRate)
    yield* Check.expectClose(
      "loss:sum",
      [found.output.metrics["loss:sum"] ?? NaN],
      [value],
      0.01 + 0.01 * Math.abs(value)
    )
    yield* StateTwins.expectSameStep("the step", found, expected)
  })
})

export const importanceSampling = ofLoss(Loss.importanceSampling, PolicyLoss.importanceSampling)
export const ppo = ofLoss(Loss.ppo(), PolicyLoss.ppo())
export const cispo = ofLoss(Loss.cispo({ clipHigh: 1.4 }), PolicyLoss.cispo({ clipHigh: 1.4 }))
export const dro = ofLoss(Loss.dro({ beta: 0.5 }), PolicyLoss.dro({ beta: 0.5 }))
export const gspo = ofLoss(Loss.gspo({ clipHigh: 1.01 }), PolicyLoss.gspo({ clipHigh: 1.01 }))

const crossEntropy: StateTwins.Submit = (client) => client.forwardBackward([Examples.weighted()], Loss.crossEntropy)

export const descends: Check.Check = {
  theme: "gradients",
  name: "a small gradient descent step lowers the loss by its length times the gradient's norm",
  why,
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const learningRate = descent / (yield* squaredNorm(twins, crossEntropy))
    const { changeT } = yield* twins.moved(crossEntropy, learningRate)
    const fall = changeT.reduce((sum, change) => sum + change, 0)
    yield* Check.expectClose("the loss's fall", [fall], [descent], descent / 3)
  })
}

export const weights: Check.Check = {
  theme: "gradients",
  name: "cross_entropy multiplies each token's loss by its weight",
  why: "Prompt tokens have weight 0. If weights are ignored, a model learns to write its own questions.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const half: StateTwins.Submit = (client) =>
      client.forwardBackward([Examples.weighted(Examples.full(0.5))], Loss.crossEntropy)
    const learningRate = descent / (yield* squaredNorm(twins, crossEntropy))
    const [one, other] = [yield* twins.moved(crossEntropy, learningRate), yield* twins.moved(half, 2 * learningRate)]
    yield* StateTwins.expectSameStep("twice the step of half the weights", other, one)
    yield* Check.expectClose(
      "loss:sum of half the weights",
      [2 * (other.output.metrics["loss:sum"] ?? NaN)],
      [one.output.metrics["loss:sum"] ?? NaN],
      0.05
    )
  })
}

export const adds: Check.Check = {
  theme: "gradients",
  name: "the gradient of a pass is the sum over its datums",
  why: "A mean instead of the sum makes the effective learning rate depend on the batch size.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const twice: StateTwins.Submit = (client) =>
      client.forwardBackward([Examples.weighted(), Examples.weighted()], Loss.crossEntropy)
    const learningRate = descent / (yield* squaredNorm(twins, crossEntropy))
    const [one, other] = [yield* twins.moved(crossEntropy, learningRate), yield* twins.moved(twice, learningRate / 2)]
    yield* StateTwins.expectSameStep("half the step of two", other, one)
  })
}

const expressions = [
  [Loss.importanceSampling, PolicyLoss.importanceSampling],
  [Loss.ppo(), PolicyLoss.ppo()]
] as const

const other = {
  drifts: [-0.3, 0.2, 0.5, -0.5, 0, 0.1, 0.4],
  advantages: Float32Array.of(-1, 0.5, 2, 1, -0.5, -2, 1)
}

export const ownInputs: Check.Check = {
  theme: "gradients",
  name: "each datum of a pass uses its own log-probabilities and advantages, and passes with different losses add up",
  why: "Groups are trained in one pass. If members' advantages are mixed up, the model learns the wrong answers.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const data = [Examples.drifted(twins.logprobs), Examples.drifted(twins.logprobs, other)] as const
    const [[loss, expression]] = expressions
    const evaluated = (of: LossExpression.LossExpression, datum: (typeof data)[number]) =>
      Effect.orDie(Effect.fromResult(LossExpression.evaluate(of, datum, twins.logprobs)))
    const [first, second] = [yield* evaluated(expression, data[0]), yield* evaluated(expression, data[1])]
    const weightsOf = (...gradients: ReadonlyArray<ArrayLike<number>>) =>
      Float32Array.from(
        Examples.targetTokens,
        (_, t) => -gradients.reduce((sum, gradient) => sum + (gradient[t] ?? NaN), 0)
      )
    const byGradient = (weights: Float32Array): StateTwins.Submit => (client) =>
      client.forwardBackward([Examples.weighted(weights)], Loss.crossEntropy)
    const both = byGradient(weightsOf(first.gradient, second.gradient))
    const learningRate = descent / (yield* squaredNorm(twins, both))
    const found = yield* twins.moved((client) => client.forwardBackward(data, loss), learningRate)
    const value = first.loss + second.loss
    yield* Check.expectClose(
      "loss:sum",
      [found.output.metrics["loss:sum"] ?? NaN],
      [value],
      0.01 + 0.01 * Math.abs(value)
    )
    yield* StateTwins.expectSameStep("the step of two data", found, yield* twins.moved(both, learningRate))
    const [, [ppo, ppoExpression]] = expressions
    const third = yield* evaluated(ppoExpression, data[1])
    const mixed: StateTwins.Submit = (client) =>
      client.forwardBackward([data[0]], loss).pipe(
        Effect.andThen(client.forwardBackward([Examples.weighted()], Loss.crossEntropy)),
        Effect.andThen(client.forwardBackward([data[1]], ppo))
      )
    const sum = byGradient(weightsOf(first.gradient, third.gradient, Examples.full(-1)))
    const rate = learningRate / 2
    yield* StateTwins.expectSameStep(
      "the step of three losses",
      yield* twins.moved(mixed, rate),
      yield* twins.moved(sum, rate)
    )
  })
}

export const all = [ownInputs, importanceSampling, ppo, cispo, dro, gspo, descends, weights, adds]
