/** Policy losses over batches: each datum keeps its own ratio, mask and length, with and without gradients. */
import { Loss, PolicyLoss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { LossExpression } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as StateTwins from "../StateTwins.ts"

const descent = 0.3

interface Named {
  readonly loss: Loss.Loss<"PolicyTokens">
  readonly expression: LossExpression.LossExpression
  readonly what: string
}

const losses: ReadonlyArray<Named> = [
  { loss: Loss.importanceSampling, expression: PolicyLoss.importanceSampling, what: "importance_sampling" },
  { loss: Loss.ppo(), expression: PolicyLoss.ppo(), what: "ppo" },
  {
    loss: Loss.ppo({ clipLow: 0.9, clipHigh: 3 }),
    expression: PolicyLoss.ppo({ clipLow: 0.9, clipHigh: 3 }),
    what: "ppo with thresholds of 0.9 and 3"
  },
  { loss: Loss.cispo(), expression: PolicyLoss.cispo(), what: "cispo with its usual thresholds" },
  { loss: Loss.dro(), expression: PolicyLoss.dro(), what: "dro with its usual beta" },
  {
    loss: Loss.gspo({ clipLow: 0.8, clipHigh: 1.3 }),
    expression: PolicyLoss.gspo({ clipLow: 0.8, clipHigh: 1.3 }),
    what: "gspo with thresholds of 0.8 and 1.3"
  }
]

/** Offset of each sampled token's log-probability from the trainer's, and its advantage. */
interface Sampled {
  readonly drifts: ReadonlyArray<number>
  readonly advantages: ReadonlyArray<number>
}

/** Data of different lengths. The sequence ratios of gspo differ, and some are clipped. */
const sampled: ReadonlyArray<Sampled> = [
  { drifts: [0.6, -0.6, 0.1, -0.1, 0.3, 0, -0.2], advantages: [1, -1, 0.5, -0.5, 2, 1, -2] },
  { drifts: [0.5, 0.4, 0.6], advantages: [1.5, 1.5, 1.5] },
  { drifts: [-0.4, -0.5, -0.3, -0.6, 0.2], advantages: [-1, -1, -1, -1, -1] },
  { drifts: [0.05], advantages: [3] }
]

const datumOf = (logprobs: Float32Array) => ({ advantages, drifts }: Sampled) =>
  Datum.policyTokens(ModelInput.fromTokens(Examples.tokens.subarray(0, drifts.length)), {
    targetTokens: Examples.targetTokens.subarray(0, drifts.length),
    logprobs: Float32Array.from(drifts, (drift, t) => (logprobs[t] ?? NaN) - drift),
    advantages: Float32Array.from(advantages),
    mask: new Float32Array(drifts.length).fill(1)
  })

const tolerance = 0.03

const ofLoss = ({ expression, loss, what }: Named): Check.Check => ({
  theme: "gradients",
  name: `${what} on data of several lengths is the sum over its datums, with equal values in forward passes`,
  why: "Groups are trained in one pass. A ratio or mean over the whole batch would be a different loss.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const [first, ...others] = sampled.map(datumOf(twins.logprobs))
    if (first === undefined) return
    const data = [first, ...others] as const
    const evaluated = yield* Effect.forEach(
      data,
      (datum) =>
        Effect.orDie(
          Effect.fromResult(
            LossExpression.evaluate(expression, datum, twins.logprobs.subarray(0, datum.inputs.targetTokens.length))
          )
        )
    )
    const value = evaluated.reduce((sum, { loss }) => sum + loss, 0)
    const [one, ...rest] = evaluated.map(({ gradient }) => {
      const weights = Float32Array.from(gradient, (slope) => -slope)
      return Datum.weightedTokens(ModelInput.fromTokens(Examples.tokens.subarray(0, weights.length)), {
        targetTokens: Examples.targetTokens.subarray(0, weights.length),
        weights
      })
    })
    if (one === undefined) return
    const byGradient: StateTwins.Submit = (client) => client.forwardBackward([one, ...rest], Loss.crossEntropy)
    const byName: StateTwins.Submit = (client) => client.forwardBackward(data, loss)
    const forward: StateTwins.Submit = (client) => client.forward(data, loss)
    const gradNorm = yield* twins.gradNorm(byGradient)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const found = yield* twins.moved(byName, learningRate)
    const sum = (metrics: Readonly<Record<string, number>>) => metrics["loss:sum"] ?? NaN
    const bound = 0.01 + 0.01 * Math.abs(value)
    yield* Check.expectClose("loss:sum", [sum(found.output.metrics)], [value], bound)
    for (const [at, { inputs: { targetTokens: { length } } }] of data.entries()) {
      const expected = twins.logprobs.subarray(0, length)
      yield* Check.expectClose(`logprobs of datum ${at}`, found.output.logprobs[at] ?? [], expected, tolerance)
    }
    yield* StateTwins.expectSameStep("the step", found, yield* twins.moved(byGradient, learningRate))
    const alone = yield* twins.moved(forward, 0)
    yield* Check.expectClose("loss:sum of a forward pass", [sum(alone.output.metrics)], [value], bound)
    for (const [at, logprobs] of found.output.logprobs.entries()) {
      yield* Check.expectClose(`logprobs of datum ${at} forward`, alone.output.logprobs[at] ?? [], logprobs, tolerance)
    }
  })
})

/** Data far from the sampler. */
const far: ReadonlyArray<Sampled> = [
  { drifts: [3, 2.5, -3, 2, -2, 1, -1], advantages: [0.5, -1.5, 4, 0.01, -6, 12, -0.3] }
]

const farLosses: ReadonlyArray<Named> = losses.filter(({ loss }) => loss.name === "cispo" || loss.name === "dro")

const farFrom = ({ expression, loss }: Named): Check.Check => ({
  theme: "losses",
  name: `${loss.name} has the value of its formula far from the sampler and for large advantages`,
  why: "Unrequested bounds on ratios or advantages change the largest updates.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const [datum] = far.map(datumOf(twins.logprobs))
    if (datum === undefined) return
    const { loss: value } = yield* Effect.orDie(
      Effect.fromResult(LossExpression.evaluate(expression, datum, twins.logprobs))
    )
    const { output } = yield* twins.moved((client) => client.forwardBackward([datum], loss), 0)
    yield* Check.expectClose("loss:sum", [output.metrics["loss:sum"] ?? NaN], [value], 0.02 * Math.abs(value) + 0.5)
  })
})

export const all = [...losses.map(ofLoss), ...farLosses.map(farFrom)]
