import { Loss, Tinker } from "@effect-rl/core"
import type { AdamParams, TrainingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"
import * as Visible from "../Visible.ts"

const why = "An ignored or misread option changes the training without any error."

/** One weight for all tokens of the examples, or undefined for a step without a pass. */
type Step = readonly [weight: number | undefined, adam: AdamParams.AdamParams]

/** The change of the examples' log-probabilities by steps, `[T]`. */
type Change = (...steps: ReadonlyArray<Step>) => Effect.Effect<Float32Array, Check.Failure, Check.Needs>

const learn = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient, [weight, adam]: Step) {
  if (weight !== undefined) {
    yield* client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy)
  }
  return yield* StateTwins.run(client.optimStep(adam))
})

/** Measures changes of models that start from the same untrained state. */
const twins = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const origin = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
  const { path } = yield* StateTwins.run(origin.saveState("certify"))
  const before = yield* StateTwins.logprobsOf(origin)
  const known = new Map<string, Float32Array>()
  const change: Change = (...steps) => {
    const key = JSON.stringify(steps)
    const found = known.get(key)
    if (found !== undefined) return Effect.succeed(found)
    return Effect.scoped(Effect.gen(function*() {
      const client = yield* tinker.createTrainingClientFromState(path)
      yield* Effect.forEach(steps, (step) => learn(client, step))
      const after = yield* StateTwins.logprobsOf(client)
      return after.map((value, t) => value - (before[t] ?? NaN))
    })).pipe(Effect.tap((changeT) => Effect.sync(() => known.set(key, changeT))))
  }
  return { before, change, path }
})

const { largest, visible } = Visible

/** A learning rate whose step is visible. */
const rateOf = (change: Change, smallest: number, adam: Omit<AdamParams.AdamParams, "learningRate">) =>
  Effect.map(
    Visible.step((learningRate) => change([1, { learningRate, ...adam }]), smallest),
    ({ learningRate }) => learningRate
  )

/** `eps` far above every gradient, so the denominator is constant and steps are gradient descent on a mean of gradients. */
const flat = { eps: 1e4 }

/** `eps` far below every gradient, so each weight moves by the learning rate. */
const steep = { eps: 1e-12 }

const expectSame = (what: string, found: Float32Array, expected: Float32Array) =>
  Check.expectClose(what, found, expected, 0.02 * largest(expected) + 5e-3)

const expectVisible = (what: string, changeT: Float32Array) =>
  Check.expect(
    largest(changeT) > visible / 10,
    `${what} to change log-probabilities`,
    `a change of ${largest(changeT)}`
  )

/** A check that steps have the same effect as the expected steps. `of` returns both for a learning rate whose step is visible. */
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

/** Number of steps without a gradient after a step with one. */
const gliding = 10

/** The distance, in learning rates, that Adam moves a weight with one step of gradient 1 followed by steps without a gradient. */
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

/** The distance of `travel` for gradients far below `eps`, in units of one gradient descent step. */
const flatTravel = (beta1: number) => {
  let [mean, moved] = [0, 0]
  for (let step = 1; step <= 1 + gliding; step++) {
    mean = beta1 * mean + (step === 1 ? 1 - beta1 : 0)
    moved += mean / (1 - beta1 ** step)
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
      "a step with beta1 0",
      [[1, { learningRate, ...plain, ...steep }]],
      [[1, { learningRate, ...steep }]]
    ],
    ["a step, and one without a gradient,", [
      [1, { learningRate: 2 * learningRate, ...plain, ...steep }],
      [0, { learningRate, ...plain, ...steep }]
    ], [[1, { learningRate: 2 * learningRate, ...steep }]]]
  ]
)

/** The effect of a step without a gradient relative to the step before it, from Adam's means. */
const glide = (beta1: number) => beta1 / (1 + beta1)

export const beta1 = equals(
  "beta1 sets how much a gradient counts in the next step",
  flat,
  (learningRate) => [
    [
      "two steps with beta1 0.9, the second without a gradient,",
      [[1, { learningRate, beta1: 0.9, ...flat }], [0, { learningRate, beta1: 0.9, ...flat }]],
      [[1, { learningRate: learningRate * (1 + glide(0.9)), ...flat }]]
    ],
    [
      `a step with beta1 0.99 and ${gliding} without a gradient`,
      glides({ learningRate: learningRate / 4, beta1: 0.99, ...flat }),
      [[1, { learningRate: learningRate / 4 * flatTravel(0.99), ...flat }]]
    ],
    [
      "a step with beta1 0.9, and one with beta1 0",
      [[1, { learningRate, beta1: 0.9, ...flat }], [0, { learningRate, beta1: 0, ...flat }]],
      [[1, { learningRate, ...flat }]]
    ],
    [
      "a step with beta1 0.5, and one of twice the learning rate",
      [[1, { learningRate: learningRate / 2, beta1: 0.5, ...flat }], [0, { learningRate, beta1: 0.5, ...flat }]],
      [[1, { learningRate: learningRate * (0.5 + glide(0.5)), ...flat }]]
    ]
  ]
)

/**
 * If squared gradients are not remembered, a step without a gradient divides the mean by `eps` alone. Gradient descent with a tiny learning
 * rate is then as fast as with a usual one, provided `eps` is equally small.
 */
export const smallSteps = equals(
  "steps with a tiny learning rate have the right length",
  flat,
  (usual) =>
    [1e-5, 1e-8].map((learningRate) => {
      const adam = { learningRate, beta1: 0.9, beta2: 0, eps: flat.eps * glide(0.9) * learningRate / usual }
      return [
        `a step with learning rate ${learningRate} and one without a gradient`,
        [[1, adam], [0, adam]],
        [[1, { learningRate: usual, ...flat }]]
      ]
    })
)

/** `count` gradient descent steps that together are as long as one step with `learningRate`. */
const descents = (count: number, learningRate: number): ReadonlyArray<Step> =>
  Arr.makeBy(count, () => [1, { learningRate: learningRate / count, ...plain, ...flat }])

export const manySteps: Check.Check = {
  theme: "optimizer",
  name: "many short steps move the weights as far as a few long ones",
  why: "Runs take thousands of steps, and their rounding errors add up.",
  run: Effect.gen(function*() {
    const { change } = yield* twins
    const learningRate = yield* rateOf(change, 4, flat)
    const [many, few] = [
      yield* change(...descents(16, learningRate / 3)),
      yield* change(...descents(6, learningRate / 3))
    ]
    yield* expectVisible("a step in parts", few)
    yield* expectSame("16 steps", many, few)
  })
}

const withoutPass = equals(
  "a step without a pass uses a zero gradient",
  flat,
  (learningRate) => [
    [
      "a step, and two without a pass,",
      [
        [1, { learningRate, ...plain, ...flat }],
        [undefined, { learningRate, ...plain, ...flat }],
        [undefined, { learningRate: 4 * learningRate, ...plain, ...flat }]
      ],
      [[1, { learningRate, ...flat }]]
    ],
    [
      "a step with beta1 0.9, and one without a pass,",
      [[1, { learningRate, beta1: 0.9, ...flat }], [undefined, { learningRate, beta1: 0.9, ...flat }]],
      [[1, { learningRate: learningRate * (1 + glide(0.9)), ...flat }]]
    ]
  ]
)

export const nothing: Check.Check = {
  ...withoutPass,
  run: Effect.catchIf(
    withoutPass.run,
    (error) => error._tag === "TinkerError" && error.reason._tag === "Rejected",
    () => Check.absent("the server refuses a step without a pass")
  )
}

export const between: Check.Check = {
  theme: "optimizer",
  name: "the optimizer's momentum survives all requests between two steps",
  why: "Every iteration saves, samples and scores before its step. An optimizer that these reset has no momentum.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { before, change, path } = yield* twins
    const learningRate = yield* rateOf(change, 4, flat)
    const adam = { learningRate, beta1: 0.9, ...flat }
    const client = yield* tinker.createTrainingClientFromState(path)
    yield* learn(client, [1, adam])
    yield* StateTwins.run(client.saveState("certify-between"))
    yield* StateTwins.run(client.saveWeightsForSampler("certify-between"))
    const sampler = yield* client.saveWeightsAndGetSamplingClient
    yield* sampler.sample({ prompt: Examples.input, params: { maxTokens: 2 } })
    yield* StateTwins.logprobsOf(client)
    const other = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    yield* learn(other, [-1, adam])
    yield* learn(client, [0, adam])
    const after = yield* StateTwins.logprobsOf(client)
    const expected = yield* change([1, { learningRate: learningRate * (1 + glide(0.9)), ...flat }])
    yield* expectSame("two steps", after.map((value, t) => value - (before[t] ?? NaN)), expected)
  })
}

export const resting = equals(
  "a step with learning rate 0 changes no weight, but its gradient counts in the optimizer's means",
  flat,
  (learningRate) => [
    [
      "a step with learning rate 0, and one without a gradient",
      [[1, { learningRate: 0, beta1: 0.9, ...flat }], [0, { learningRate: 2 * learningRate, beta1: 0.9, ...flat }]],
      [[1, { learningRate: 2 * learningRate * glide(0.9), ...flat }]]
    ],
    [
      "two steps with gradients, the first with learning rate 0,",
      [[1, { learningRate: 0, ...plain, ...flat }], [1, { learningRate, ...plain, ...flat }]],
      [[1, { learningRate, ...flat }]]
    ]
  ]
)

export const beta2 = equals(
  "beta2 sets how long a large gradient shortens later steps",
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
  "eps is added to the root of the mean squared gradient",
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
  "an eps of 1e-12 does not shorten the steps of small gradients",
  steep,
  (learningRate) => [
    ["a step on a hundred-millionth of the loss", [[1e-8, { learningRate, ...steep }]], [[1, {
      learningRate,
      ...steep
    }]]]
  ]
)

export const defaults = equals(
  "a step with only a learning rate uses beta1 0.9 and beta2 0.95, without decay or clipping",
  steep,
  (learningRate) => [
    [
      `a step with defaults and ${gliding} without a gradient`,
      glides({ learningRate }),
      [[1, { learningRate: learningRate * travel(0.9, 0.95), ...steep }]]
    ],
    ["a step with defaults on a hundred-millionth of the loss", [[1e-8, { learningRate }]], [[1, {
      learningRate,
      ...steep
    }]]],
    [
      "a step with defaults, and one that would decay,",
      [[1, { learningRate }], [0, { learningRate: 100, ...plain, ...flat }]],
      [[1, { learningRate, ...steep }]]
    ]
  ]
)

/** Settings with a clip far below every gradient norm. */
const clipped = { gradClipNorm: 1e-3, ...flat }

export const clip = equals(
  "grad_clip_norm shortens longer gradients to that norm",
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
  "a grad_clip_norm above the gradient's norm changes nothing",
  flat,
  (learningRate) => [
    ["a clipped step", [[1, { learningRate, gradClipNorm: 1e6, ...flat }]], [[1, { learningRate, ...flat }]]]
  ]
)

export const clipToNorm: Check.Check = {
  theme: "optimizer",
  name: "grad_norm is the gradient's norm before clipping, and clipping to half of it halves the step",
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
    const large = yield* change([100, { learningRate, gradClipNorm: 50 * whole, eps: 100 * flat.eps }])
    yield* expectSame("the clipped step on a hundred times the loss", large, clipped)
  })
}

export const clipOfSum: Check.Check = {
  theme: "optimizer",
  name: "grad_norm and clipping use the sum of all passes before a step",
  why: "Large batches come in many passes, and clipping each pass would weight them differently.",
  run: Effect.gen(function*() {
    const { before, change, path } = yield* twins
    const tinker = yield* Tinker.Tinker
    const stepped = (weights: ReadonlyArray<number>, adam: AdamParams.AdamParams) =>
      Effect.scoped(Effect.gen(function*() {
        const client = yield* tinker.createTrainingClientFromState(path)
        for (const weight of weights) {
          yield* client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy)
        }
        const { metrics } = yield* StateTwins.run(client.optimStep(adam))
        const after = yield* StateTwins.logprobsOf(client)
        return { changeT: after.map((value, t) => value - (before[t] ?? NaN)), norm: metrics["grad_norm"] }
      }))
    const learningRate = yield* rateOf(change, 4, flat)
    const { norm: whole } = yield* stepped([1], { learningRate: 0, ...flat })
    if (whole === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const found = yield* stepped([3, -1, 2], { learningRate, gradClipNorm: whole, ...flat })
    yield* Check.expectClose("grad_norm of passes of 3, −1 and 2", [found.norm ?? NaN], [4 * whole], 0.05 * whole)
    yield* expectSame("the clipped step", found.changeT, yield* change([1, { learningRate, ...flat }]))
  })
}

/** Learning rate times decay coefficient is 1, so one step of decoupled decay sets the weights to zero. */
const toNothing = { learningRate: 0.5, weightDecay: 2, ...plain, ...flat }

/** Settings with the same total decay as `toNothing`, from a large learning rate and the usual coefficient. */
const slowly = { ...toNothing, learningRate: 100, weightDecay: 0.01 }

export const weightDecay: Check.Check = {
  theme: "optimizer",
  name: "a step removes weight_decay times the learning rate of each weight",
  why,
  run: Effect.gen(function*() {
    const { change } = yield* twins
    const learningRate = yield* rateOf(change, 1e-4, steep)
    const trained: Step = [1, { learningRate, ...plain, ...steep }]
    for (const adam of [toNothing, slowly]) {
      const decayed = yield* change(trained, [0, adam])
      yield* Check.expectClose("the change that is left of weights without a rest", decayed, decayed.map(() => 0), 5e-3)
    }
    const without = yield* change(trained, [0, { ...toNothing, weightDecay: 0 }])
    yield* expectSame("the change without decay", without, yield* change(trained))
    const half = yield* change(trained, [0, { ...toNothing, weightDecay: 1 }])
    const [kept, whole] = [largest(half), largest(without)]
    yield* Check.expect(kept > 0.02 * whole && kept < 0.98 * whole, `a part of ${whole} at half the decay`, kept)
  })
}

export const all = [
  learningRate,
  beta1,
  resting,
  beta2,
  eps,
  tinyEps,
  smallSteps,
  manySteps,
  nothing,
  between,
  defaults,
  clip,
  wideClip,
  clipToNorm,
  clipOfSum,
  weightDecay
]
