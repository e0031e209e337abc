import * as Effect from "effect/Effect"
import type { AdamParams } from "../../model/AdamParams.ts"
import * as Loss from "../../model/Loss.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

/** The weight of all tokens of the example in a step's pass, or undefined for a step without a pass, and the step's settings. */
type Step = readonly [weight: number | undefined, adam: Partial<AdamParams>]

/** Log-probabilities after the steps of a new client. */
const after = Effect.fnUntraced(function*(options: Fixture.Options, steps: ReadonlyArray<Step>) {
  const client = yield* Fixture.training(options)
  for (const [weight, adam] of steps) {
    if (weight !== undefined) {
      yield* Fixture.run(client.forwardBackward([Fixture.weighted(Fixture.full(weight))], Loss.crossEntropy))
    }
    yield* Fixture.run(client.optimStep({ learningRate: Fixture.learningRate, ...adam }))
  }
  return yield* Fixture.logprobs(client)
})

/** A case that passes if both lists of steps have the same effect according to Adam's formulas. */
const same = (
  options: Fixture.Options,
  name: string,
  found: ReadonlyArray<Step>,
  expected: ReadonlyArray<Step>
) =>
  Case.make(
    `optimizer: ${name}`,
    Effect.gen(function*() {
      const before = yield* after(options, [])
      yield* Case.expectSameChange("logprobs", before, yield* after(options, found), yield* after(options, expected))
    })
  )

const betas = { beta1: 0.5, beta2: 0.1 }

/** The distance of a step without a gradient after one with a gradient, in learning rates. */
const glide = ({ beta1, beta2 }: typeof betas) => beta1 / (1 + beta1) / Math.sqrt(beta2 / (1 + beta2))

/** Settings of a step whose gradient has no effect. */
const still = { beta1: 0, beta2: 0, eps: 1e4 }

const trained: ReadonlyArray<Step> = [[1, {}], [1, {}], [1, {}]]

const weightDecay = (options: Fixture.Options) =>
  Case.make(
    "optimizer: a step removes weightDecay times the learning rate of each weight",
    Effect.gen(function*() {
      const half: Step = [undefined, { ...still, learningRate: 0.5, weightDecay: 1 }]
      const decayed = yield* after(options, [...trained, half, half])
      yield* Case.expectDifferent("logprobs after weight decay", decayed, yield* after(options, trained))
      const atOnce: Step = [undefined, { ...still, learningRate: 0.25, weightDecay: 3 }]
      yield* Case.expectClose(
        "logprobs after decay by 1/2 twice",
        decayed,
        yield* after(options, [...trained, atOnce])
      )
    })
  )

/** Cases about the settings of optimizer steps. They compare steps that move the weights equally according to Adam's formulas. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  // A weight that is a power of two changes no sign of a gradient by rounding.
  same(
    options,
    "the first step moves each weight by the learning rate, whatever its gradient, beta1 and beta2",
    [[1, {}]],
    [[1 / 4, { beta1: 0, beta2: 0 }]]
  ),
  same(
    options,
    "beta1 and beta2 set how much earlier gradients count",
    [[1, betas], [undefined, betas]],
    [[1, { learningRate: Fixture.learningRate * (1 + glide(betas)) }]]
  ),
  // The first step's gradient is ten times the second's, but both are clipped to the same norm.
  same(
    options,
    "gradClipNorm shortens longer gradients to that norm",
    [[10, { learningRate: 0, gradClipNorm: 1e-3 }], [-1, { gradClipNorm: 1e-3 }]],
    [[1, { learningRate: 0 }], [-1, {}]]
  ),
  weightDecay(options)
]
