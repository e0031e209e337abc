import { Loss, PolicyLoss, Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { LossExpression } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

const tolerance = 0.02

const weights = [0, 1, -0.5, 2, 0.25, 1, 3]

const drifts = [0.6, -0.6, 0.1, -0.1, 0.3, 0, -0.2]

const advantages = [1, -1, 0.5, -0.5, 2, 1, -2]

const sum = (values: ArrayLike<number>) => Array.from(values).reduce((total, value) => total + value, 0)

const numbers = (data: Float32Array | BigInt64Array | undefined) => Array.from(data ?? [], Number)

const tensor = (data: ReadonlyArray<number>) => ({ data, dtype: "float32", shape: [data.length] })

/** The result of a wire-format pass, and the log-probabilities before it. */
const passed = Effect.fnUntraced(function*(
  make: (
    logprobs: Float32Array
  ) => { readonly data: ReadonlyArray<object>; readonly loss: string; readonly config?: object }
) {
  const { post, result, session } = yield* RawRequests
  const { model } = yield* session
  const model_id = yield* model
  const before = yield* Effect.flatMap(post("/forward", Examples.forward(model_id, 1)), result)
  const logprobs = yield* Examples.logprobsOf(before)
  const { config, data, loss } = make(logprobs)
  const { forward_backward_input, ...pass } = Examples.pass(model_id, 2, data, loss)
  const promise = yield* post("/forward_backward", {
    ...pass,
    forward_backward_input: { ...forward_backward_input, ...(config === undefined ? {} : { loss_fn_config: config }) }
  })
  const found = yield* Effect.flatMap(Blame.expectDone(promise), Examples.outputOf)
  return { found, logprobs }
})

const missing = Check.absent("the server does not report elementwise_loss")

export const crossEntropy: Check.Check = {
  theme: "losses",
  name: "elementwise_loss of cross_entropy is each token's weight times its negative log-probability",
  why: "Per-token loss curves use it. With the wrong sign they rise while a model learns.",
  run: Effect.gen(function*() {
    const { found, logprobs } = yield* passed(() => ({ data: [Examples.datum({ weights })], loss: "cross_entropy" }))
    const field = found.outputs[0]?.["elementwise_loss"]
    const expected = weights.map((weight, t) => -weight * (logprobs[t] ?? NaN))
    yield* Check.expectClose("loss:sum", [found.metrics["loss:sum"] ?? NaN], [sum(expected)], tolerance * 7)
    if (field === undefined) return yield* missing
    yield* Check.expectClose("elementwise_loss", numbers(field.data), expected, tolerance * 3)
  })
}

type Formula = (ratio: number, logprob: number, advantage: number) => number

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high)

const byToken = (
  loss: string,
  config: Readonly<Record<string, number>> | undefined,
  formula: Formula,
  what = config === undefined ? " with its usual thresholds" : ""
): Check.Check => ({
  theme: "losses",
  name: `elementwise_loss of ${loss}${what} is its formula for each token`,
  why: "Per-token loss curves and audits of clipped tokens use it.",
  run: Effect.gen(function*() {
    const { found, logprobs } = yield* passed((logprobs) => {
      const { loss_fn_inputs: { target_tokens }, model_input } = Examples.datum()
      const sampled = [...logprobs].map((value, t) => value - (drifts[t] ?? 0))
      const loss_fn_inputs = { target_tokens, logprobs: tensor(sampled), advantages: tensor(advantages) }
      return { data: [{ model_input, loss_fn_inputs }], loss, ...(config === undefined ? {} : { config }) }
    })
    const expected = drifts.map((drift, t) => formula(Math.exp(drift), logprobs[t] ?? NaN, advantages[t] ?? NaN))
    yield* Check.expectClose("loss:sum", [found.metrics["loss:sum"] ?? NaN], [sum(expected)], tolerance * 7)
    const field = found.outputs[0]?.["elementwise_loss"]
    if (field === undefined) return yield* missing
    yield* Check.expectClose("elementwise_loss", numbers(field.data), expected, tolerance * 3)
  })
})

const policies = [
  byToken("importance_sampling", {}, (ratio, _, advantage) => -ratio * advantage),
  byToken(
    "ppo",
    { clip_low_threshold: 0.7, clip_high_threshold: 1.5 },
    (ratio, _, advantage) => -Math.min(ratio * advantage, clamp(ratio, 0.7, 1.5) * advantage)
  ),
  byToken(
    "ppo",
    undefined,
    (ratio, _, advantage) => -Math.min(ratio * advantage, clamp(ratio, 0.8, 1.2) * advantage)
  ),
  byToken(
    "ppo",
    { clip_low_threshold: 0.5 },
    (ratio, _, advantage) => -Math.min(ratio * advantage, clamp(ratio, 0.5, 1.2) * advantage),
    " with one threshold of its own"
  ),
  byToken(
    "cispo",
    { clip_low_threshold: 0.7, clip_high_threshold: 1.3 },
    (ratio, logprob, advantage) => -clamp(ratio, 0.7, 1.3) * logprob * advantage
  ),
  byToken(
    "dro",
    { beta: 0.4 },
    (ratio, logprob, advantage) => -(logprob * advantage - 0.2 * Math.log(ratio) ** 2)
  )
]

export const metrics: Check.Check = {
  theme: "losses",
  name: "loss:sum of a batch is the sum over its data, and every metric's name ends with its reduction",
  why:
    "Clients combine the parts of a batch by the reduction. The official SDK fails on names without exactly one colon.",
  run: Effect.gen(function*() {
    const short = Examples.datum({ tokens: [2, 7], targets: [7, 1], weights: [1, 2] })
    const { found, logprobs } = yield* passed(() => ({
      data: [Examples.datum({ weights }), short, Examples.datum({ weights })],
      loss: "cross_entropy"
    }))
    const wrong = Object.keys(found.metrics).find((name) => name.split(":").length !== 2)
    yield* Check.expect(wrong === undefined, "names with one colon", wrong)
    yield* Check.expect(found.outputs.length === 3, "3 outputs", found.outputs.length)
    const [first, second, third] = found.outputs.map((output) => numbers(output["logprobs"]?.data))
    yield* Check.expectClose("logprobs of the first datum", first ?? [], logprobs, tolerance)
    yield* Check.expectClose("logprobs of the third datum", third ?? [], logprobs, tolerance)
    yield* Check.expect(second?.length === 2, "2 logprobs of the second datum", second?.length)
    const [a = NaN, b = NaN] = second ?? []
    const expected = 2 * sum(weights.map((weight, t) => -weight * (logprobs[t] ?? NaN))) - a - 2 * b
    yield* Check.expectClose("loss:sum", [found.metrics["loss:sum"] ?? NaN], [expected], tolerance * 7)
  })
}

export const noWeight: Check.Check = {
  theme: "losses",
  name: "a datum whose weights are 0 has log-probabilities and no loss",
  why: "Evaluations score text this way.",
  run: Effect.gen(function*() {
    const { found, logprobs } = yield* passed(() => ({
      data: [Examples.datum({ weights: weights.map(() => 0) })],
      loss: "cross_entropy"
    }))
    yield* Check.expectClose("logprobs", numbers(found.outputs[0]?.["logprobs"]?.data), logprobs, tolerance)
    yield* Check.expectClose("loss:sum", [found.metrics["loss:sum"] ?? NaN], [0], 1e-6)
  })
}

/** Target decrease of the loss: far above rounding, but small enough that the loss is nearly linear. */
const descent = 0.3

/** Compares a named policy loss with non-default thresholds to the cross entropy of its gradient, computed in float64. */
const configured = (
  loss: Loss.Loss<"PolicyTokens">,
  expression: LossExpression.LossExpression,
  what: string
): Check.Check => ({
  theme: "gradients",
  name: `${loss.name} with ${what} has the gradient of its formula in float64`,
  why:
    "A threshold that is read for the value of a loss and not for its gradient changes what is learned, and no curve shows it.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const datum = Examples.drifted(twins.logprobs)
    const { gradient } = yield* Effect.orDie(
      Effect.fromResult(LossExpression.evaluate(expression, datum, twins.logprobs))
    )
    const weights = Float32Array.from(gradient, (slope) => -slope)
    const byGradient: StateTwins.Submit = (client) =>
      client.forwardBackward([Examples.weighted(weights)], Loss.crossEntropy)
    const gradNorm = yield* twins.gradNorm(byGradient)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const found = yield* twins.moved((client) => client.forwardBackward([datum], loss), learningRate)
    const expected = yield* twins.moved(byGradient, learningRate)
    yield* StateTwins.expectSameStep("the step", found, expected)
  })
})

const thresholds = { clipLow: 0.5, clipHigh: 1.5 }

const gradients = [
  configured(Loss.ppo(thresholds), PolicyLoss.ppo(thresholds), "thresholds of 0.5 and 1.5"),
  configured(
    Loss.cispo({ clipLow: 0.8, clipHigh: 1.2 }),
    PolicyLoss.cispo({ clipLow: 0.8, clipHigh: 1.2 }),
    "thresholds of 0.8 and 1.2"
  ),
  configured(Loss.dro({ beta: 2 }), PolicyLoss.dro({ beta: 2 }), "a beta of 2")
]

/** The examples' tokens twice, each with part of the weight. */
const soft = (share: number) => ({
  kind: "WeightedCandidates" as const,
  modelInput: Examples.input,
  inputs: {
    candidates: 2,
    targetTokens: Int32Array.from([...Examples.targetTokens].flatMap((token) => [token, token])),
    weights: Float32Array.from([...Examples.targetTokens].flatMap(() => [share, 1 - share]))
  }
})

export const candidates: Check.Check = {
  theme: "gradients",
  name: "soft targets pull towards each candidate by its weight",
  why: "Distillation learns from all the teacher's candidates, not from the first.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const hard: StateTwins.Submit = (client) => client.forwardBackward([Examples.weighted()], Loss.crossEntropy)
    const gradNorm = yield* twins.gradNorm(hard)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const expected = yield* twins.moved(hard, learningRate)
    for (const share of [0, 0.25, 1]) {
      const found = yield* twins.moved(
        (client) => client.forwardBackward([soft(share)], Loss.crossEntropyCandidates),
        learningRate
      )
      yield* StateTwins.expectSameStep(`the step of shares ${share} and ${1 - share}`, found, expected)
    }
  })
}

export const chunks: Check.Check = {
  theme: "training",
  name: "how a datum is cut into chunks does not matter",
  why: "Prompts and answers come as chunks of their own; what is lost between them is the beginning of each answer.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel, loraRank: 8 }))
    const [head, tail] = [Examples.tokens.subarray(0, 3), Examples.tokens.subarray(3)]
    const cut = { ...Examples.weighted(), modelInput: ModelInput.append(ModelInput.fromTokens(head), tail) }
    const { logprobs: [found = []] } = yield* StateTwins.run(client.forward([cut], Loss.crossEntropy))
    yield* Check.expectClose("logprobs of two chunks", found, yield* StateTwins.logprobsOf(client), tolerance)
  })
}

/** Data of different lengths must have the same log-probabilities in one pass as alone. */
export const lengths: Check.Check = {
  theme: "training",
  name: "data of several lengths do not disturb each other",
  why: "Batches are padded inside; padding that is attended to makes a datum depend on its neighbours.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
    yield* StateTwins.run(client.forwardBackward([Examples.weighted()], Loss.crossEntropy))
    yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
    const data = [2, 7, 1, 5, 3].map(Examples.ofLength)
    const [first, ...others] = data
    if (first === undefined) return
    const together = yield* StateTwins.run(client.forward([first, ...others], Loss.crossEntropy))
    for (const [at, datum] of data.entries()) {
      const alone = yield* StateTwins.run(client.forward([datum], Loss.crossEntropy))
      yield* Check.expectClose(
        `logprobs of datum ${at}`,
        together.logprobs[at] ?? [],
        alone.logprobs[0] ?? [],
        tolerance
      )
    }
  })
}

export const all = [crossEntropy, ...policies, metrics, noWeight, ...gradients, candidates, chunks, lengths]
