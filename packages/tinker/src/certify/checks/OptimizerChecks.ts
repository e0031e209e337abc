import { Loss, Tinker } from "@effect-rl/core"
import type { AdamParams, TrainingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

const why = "An option that is ignored or read as another one trains something else without any error."

type Step = readonly [weight: number, adam: AdamParams.AdamParams]

/** The change of the examples' log-probabilities `[T]` by steps, each with one weight for all tokens of the examples. */
type Change = (...steps: ReadonlyArray<Step>) => Effect.Effect<Float32Array, Check.Failure, Check.Needs>

const learn = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, [weight, adam]: Step) {
  yield* StateTwins.run(client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy))
  return yield* StateTwins.run(client.optimStep(adam))
})

/** Changes of models that begin in one untrained state. */
const twins = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const origin = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
  const { path } = yield* StateTwins.run(origin.saveState("certify"))
  const before = yield* StateTwins.logprobsOf(origin)
  const change: Change = (...steps) =>
    Effect.scoped(Effect.gen(function*() {
      const client = yield* tinker.createTrainingClientFromState(path)
      yield* Effect.forEach(steps, (step) => learn(client, step))
      const after = yield* StateTwins.logprobsOf(client)
      return after.map((value, t) => value - (before[t] ?? NaN))
    }))
  return { before, change, path }
})

const largest = (changeT: Float32Array) => Math.max(...changeT.map(Math.abs))

/** A change far above rounding, and small enough that the model is still near the state where it began. */
const visible = 0.3

/** The first of growing learning rates whose step is visible. */
const rateOf = (change: Change, smallest: number, adam: Omit<AdamParams.AdamParams, "learningRate">) =>
  Effect.gen(function*() {
    for (const power of Arr.range(0, 12)) {
      const learningRate = smallest * 4 ** power
      if (largest(yield* change([1, { learningRate, ...adam }])) > visible) return learningRate
    }
    return yield* Check.expect(false, "a step that changes the model at some learning rate", "none").pipe(
      Effect.as(NaN)
    )
  })

/** So far above every gradient that Adam divides by it alone: steps are those of gradient descent with a mean of gradients. */
const flat = { eps: 1e4 }

/** So far below every gradient that each weight moves by the learning rate. */
const steep = { eps: 1e-12 }

const expectSame = (what: string, found: Float32Array, expected: Float32Array) =>
  Check.expectClose(what, found, expected, 0.02 * largest(expected) + 5e-3)

const expectVisible = (what: string, changeT: Float32Array) =>
  Check.expect(
    largest(changeT) > visible / 10,
    `${what} to change log-probabilities`,
    `a change of ${largest(changeT)}`
  )

/** A check of steps that must all be one step with some other learning rate. */
const equals = (
  name: string,
  regime: Omit<AdamParams.AdamParams, "learningRate">,
  of: (learningRate: number) => ReadonlyArray<
    readonly [what: string, steps: ReadonlyArray<Step>, expected: ReadonlyArray<Step>]
  >
): Check.Check => ({
  theme: "optimizer",
  name,
  why,
  run: Effect.gen(function*() {
    const { change } = yield* twins
    const learningRate = yield* rateOf(change, regime === steep ? 1e-4 : 4, regime)
    for (const [what, steps, expected] of of(learningRate)) {
      const [found, wanted] = [yield* change(...steps), yield* change(...expected)]
      yield* expectVisible(what, wanted)
      yield* expectSame(what, found, wanted)
    }
  })
})

const plain = { beta1: 0, beta2: 0 }

/** Steps without a gradient after one with it. */
const gliding = 10

/** How far Adam moves a weight with one step of gradient 1 and the steps without a gradient after it, in learning rates. */
const travel = (beta1: number, beta2: number) => {
  let [mean, square, moved] = [0, 0, 0]
  for (let step = 1; step <= 1 + gliding; step++) {
    const gradient = step === 1 ? 1 : 0
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient ** 2
    moved += mean / (1 - beta1 ** step) / Math.sqrt(square / (1 - beta2 ** step))
  }
  return moved
}

const glides = (adam: AdamParams.AdamParams): ReadonlyArray<Step> => [
  [1, adam],
  ...Arr.makeBy(gliding, (): Step => [0, adam])
]

export const learningRate = equals(
  "Adam's first step moves each weight by the learning rate, whatever its gradient",
  steep,
  (learningRate) => [
    ["a step on a third of the loss", [[1 / 3, { learningRate, ...steep }]], [[1, { learningRate, ...steep }]]],
    [
      "a step without means of gradients",
      [[1, { learningRate, ...plain, ...steep }]],
      [[1, { learningRate, ...steep }]]
    ],
    ["a step, and one without a gradient,", [
      [1, { learningRate: 2 * learningRate, ...plain, ...steep }],
      [0, { learningRate, ...plain, ...steep }]
    ], [[1, { learningRate: 2 * learningRate, ...steep }]]]
  ]
)

/** What a step without a gradient adds, as a part of the step before it, by the means that Adam keeps. */
const glide = (beta1: number) => beta1 / (1 + beta1)

export const beta1 = equals(
  "beta1 decides how much a gradient counts in the step after its own",
  flat,
  (learningRate) =>
    [0, 0.5, 0.9].map((beta1) => {
      const adam = { learningRate, beta1, ...flat }
      const expected = { learningRate: learningRate * (1 + glide(beta1)), ...flat }
      return [`two steps with beta1 ${beta1}, the second without a gradient,`, [[1, adam], [0, adam]], [[1, expected]]]
    })
)

export const beta2 = equals(
  "beta2 decides how long a large gradient shortens steps",
  steep,
  (learningRate) =>
    [0.7, 0.95].map((beta2) => {
      const adam = { learningRate, beta1: 0.9, beta2, ...steep }
      return [
        `a step with beta2 ${beta2} and ${gliding} without a gradient`,
        glides(adam),
        [[1, { learningRate: learningRate * travel(0.9, beta2), ...steep }]]
      ]
    })
)

export const eps = equals(
  "eps is added to the root of the mean of squares",
  flat,
  (learningRate) => [
    [
      "a step of twice the learning rate and twice the eps",
      [[1, { learningRate: 2 * learningRate, eps: 2 * flat.eps }]],
      [[1, { learningRate, ...flat }]]
    ],
    [
      "a step on half the loss with half the eps",
      [[0.5, { learningRate, eps: flat.eps / 2 }]],
      [[1, { learningRate, ...flat }]]
    ]
  ]
)

export const tinyEps = equals(
  "an eps of 1e-12 leaves small gradients their steps",
  steep,
  (learningRate) => [
    ["a step on a ten-millionth of the loss", [[1e-7, { learningRate, ...steep }]], [[1, { learningRate, ...steep }]]]
  ]
)

export const defaults = equals(
  "a step that names the learning rate alone has beta1 0.9 and beta2 0.95, without decay and clip",
  steep,
  (learningRate) => [[
    `a step with defaults and ${gliding} without a gradient`,
    glides({ learningRate }),
    [[1, { learningRate: learningRate * travel(0.9, 0.95), ...steep }]]
  ]]
)

/** Far below every gradient. */
const clipped = { gradClipNorm: 1e-3, ...flat }

export const clip = equals(
  "grad_clip_norm shortens every gradient to the same length",
  clipped,
  (learningRate) => [
    ["a step on ten times the loss", [[10, { learningRate, ...clipped }]], [[1, { learningRate, ...clipped }]]],
    [
      "a step of twice the learning rate, clipped to half,",
      [[1, { ...clipped, learningRate: 2 * learningRate, gradClipNorm: clipped.gradClipNorm / 2 }]],
      [[1, { learningRate, ...clipped }]]
    ]
  ]
)

export const wideClip = equals(
  "a grad_clip_norm above the gradient's length leaves it alone",
  flat,
  (learningRate) => [
    ["a clipped step", [[1, { learningRate, gradClipNorm: 1e6, ...flat }]], [[1, { learningRate, ...flat }]]]
  ]
)

export const clipToNorm: Check.Check = {
  theme: "optimizer",
  name: "grad_norm is the length of the gradient before the clip, and a clip to half of it halves the step",
  why,
  run: Effect.gen(function*() {
    const { change, path } = yield* twins
    const tinker = yield* Tinker.Tinker
    const norm = (weight: number, gradClipNorm: number) =>
      Effect.scoped(Effect.gen(function*() {
        const client = yield* tinker.createTrainingClientFromState(path)
        const { metrics } = yield* learn(client, [weight, { learningRate: 0, gradClipNorm }])
        const found = metrics["grad_norm"]
        return found === undefined ? yield* Check.absent("optim_step does not report grad_norm") : found
      }))
    const whole = yield* norm(1, 0)
    yield* Check.expectClose("grad_norm of three times the loss", [yield* norm(3, 0)], [3 * whole], 0.03 * whole)
    yield* Check.expectClose("grad_norm with a clip", [yield* norm(1, whole / 2)], [whole], 0.03 * whole)
    const learningRate = yield* rateOf(change, 4, flat)
    const clipped = yield* change([1, { learningRate, gradClipNorm: whole / 2, ...flat }])
    yield* expectSame("the clipped step", clipped, yield* change([1, { learningRate: learningRate / 2, ...flat }]))
  })
}

/** Decay by the learning rate times this is decay to nothing, where it is decoupled from the gradient. */
const toNothing = { learningRate: 0.5, weightDecay: 2, ...plain, ...flat }

export const weightDecay: Check.Check = {
  theme: "optimizer",
  name: "weight_decay times the learning rate is the share of each weight that a step takes away",
  why,
  run: Effect.gen(function*() {
    const { change } = yield* twins
    const learningRate = yield* rateOf(change, 1e-4, steep)
    const trained: Step = [1, { learningRate, ...plain, ...steep }]
    const decayed = yield* change(trained, [0, toNothing])
    yield* Check.expectClose("the change that is left of weights without a rest", decayed, decayed.map(() => 0), 5e-3)
    const without = yield* change(trained, [0, { ...toNothing, weightDecay: 0 }])
    yield* expectSame("the change without decay", without, yield* change(trained))
    const half = yield* change(trained, [0, { ...toNothing, weightDecay: 1 }])
    const [kept, whole] = [largest(half), largest(without)]
    yield* Check.expect(kept > 0.02 * whole && kept < 0.98 * whole, `a part of ${whole} at half the decay`, kept)
  })
}

export const all = [learningRate, beta1, beta2, eps, tinyEps, defaults, clip, wideClip, clipToNorm, weightDecay]
