/** Passes over pseudo-random data, of varying lengths and signal sizes, compared with their formulas and across every split into passes. */
import { Loss, PolicyLoss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type TrainingClient } from "@effect-rl/core/backend"
import { LossExpression } from "@effect-rl/core/losses"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Chance from "../Chance.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

type Client = TrainingClient.TrainingClient
type Policy = Datum.Datum<"PolicyTokens">
type Weighted = Datum.Datum<"WeightedTokens">
type Data<A> = Arr.NonEmptyReadonlyArray<A>

const lengths = [1, 40, 5, 100, 17, 64, 2] as const

/** Tokens for texts, and for targets that differ from the next token. */
const tokensOf = (stream: number, length: number) =>
  Int32Array.from({ length }, (_, at) => Chance.whole(stream, at, 0, 30))

const inputOf = (stream: number, length: number) => ModelInput.fromTokens(tokensOf(stream, length))

const weightedOf = (stream: number, length: number, weight: (at: number) => number): Weighted =>
  Datum.weightedTokens(inputOf(stream, length), {
    targetTokens: tokensOf(stream + 500, length),
    weights: Float32Array.from({ length }, (_, at) => weight(at))
  })

const map = <A, B>([first, ...others]: Data<A>, change: (value: A, at: number) => B): Data<B> => [
  change(first, 0),
  ...others.map((value, at) => change(value, at + 1))
]

/** A policy datum: some tokens are far from the sampler, some have large advantages, and some have none. */
const policyOf = (stream: number, length: number, logprobs: Float32Array): Policy =>
  Datum.policyTokens(inputOf(stream, length), {
    targetTokens: tokensOf(stream + 500, length),
    logprobs: logprobs.map((value, at) => value - 3 * (Chance.share(stream + 1000, at) - 0.5)),
    advantages: Float32Array.from(
      { length },
      (_, at) => Chance.one(stream + 2000, at, [1, -1, 0, 0.25, -3, 8]) * (0.5 + Chance.share(stream + 3000, at))
    ),
    mask: new Float32Array(length).fill(1)
  })

interface Named {
  readonly loss: Loss.Loss<"PolicyTokens">
  readonly expression: LossExpression.LossExpression
}

const thresholds = { clipLow: 0.6, clipHigh: 2.4 }

const losses: ReadonlyArray<Named> = [
  { loss: Loss.importanceSampling, expression: PolicyLoss.importanceSampling },
  { loss: Loss.ppo(thresholds), expression: PolicyLoss.ppo(thresholds) },
  { loss: Loss.cispo(thresholds), expression: PolicyLoss.cispo(thresholds) },
  { loss: Loss.dro({ beta: 0.3 }), expression: PolicyLoss.dro({ beta: 0.3 }) }
]

/** A model, pseudo-random texts with their log-probabilities, and a function that measures steps from the model's state. */
const begun = (stream: number) =>
  Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const origin = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
    const { path } = yield* StateTwins.run(origin.saveState("certify-passes"))
    const texts = map(lengths, (length, at) => weightedOf(stream + at, length, () => 1))
    const { logprobs } = yield* StateTwins.run(origin.forward(texts, Loss.crossEntropy))
    const flat = (all: ReadonlyArray<Float32Array>) => all.flatMap((values) => [...values])
    /** The change of all log-probabilities by a gradient descent step after passes, and the gradient norm. */
    const moved = (submit: (client: Client) => Effect.Effect<unknown, Check.Failure>, learningRate: number) =>
      Effect.scoped(Effect.gen(function*() {
        const client = yield* tinker.createTrainingClientFromState(path)
        yield* submit(client)
        const eps = 1e4
        const { metrics } = yield* StateTwins.run(client.optimStep({ learningRate: learningRate * eps, eps }))
        const after = yield* StateTwins.run(client.forward(texts, Loss.crossEntropy))
        const before = flat(logprobs)
        return {
          norm: metrics["grad_norm"],
          change: flat(after.logprobs).map((value, at) => value - (before[at] ?? NaN))
        }
      }))
    return { origin, texts, logprobs, moved }
  })

const largest = (change: ReadonlyArray<number>) => Math.max(...change.map(Math.abs))

/** The target change of the log-probability that a step changes most. */
const visible = 0.3

const rateFor = Effect.fnUntraced(
  function*(moved: Effect.Success<ReturnType<typeof begun>>["moved"], data: Data<Weighted>) {
    const submit = (client: Client) => client.forwardBackward(data, Loss.crossEntropy)
    const { norm } = yield* moved(submit, 0)
    if (norm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const first = 0.3 / (norm * norm)
    const { change } = yield* moved(submit, first)
    const learningRate = first * Math.min(20, visible / largest(change))
    return { learningRate, expected: (yield* moved(submit, learningRate)).change }
  }
)

const expectSame = (what: string, found: ReadonlyArray<number>, expected: ReadonlyArray<number>) => {
  const [distance, whole] = [Check.distance(found, expected), largest(expected)]
  return Check.expect(distance < 0.05 * whole + 3e-3, `${what} within 5 % of ${whole}`, `${distance} beside it`)
}

const ofLoss = ({ expression, loss }: Named, number: number): Check.Check => ({
  theme: "gradients",
  name: `${loss.name} of random data of many lengths equals its formula, in one pass or one per datum, in any order`,
  why: "Losses that are right for a few tokens and small values may be wrong for real batches, and no curve shows it.",
  run: Effect.gen(function*() {
    const { logprobs, moved, origin } = yield* begun(number * 20)
    const data = map(
      lengths,
      (length, at) => policyOf(number * 20 + at, length, logprobs[at] ?? new Float32Array(length))
    )
    const evaluated = yield* Effect.forEach(
      data,
      (datum, at) => Effect.orDie(Effect.fromResult(LossExpression.evaluate(expression, datum, logprobs[at] ?? [])))
    )
    const whole = yield* StateTwins.run(origin.forward(data, loss))
    const value = evaluated.reduce((sum, one) => sum + one.loss, 0)
    const size = evaluated.reduce((sum, one) => sum + Math.abs(one.loss), 0)
    yield* Check.expectClose("loss:sum", [whole.metrics["loss:sum"] ?? NaN], [value], 0.05 + 0.01 * size)
    for (const [at, datum] of data.entries()) {
      const alone = yield* StateTwins.run(origin.forward([datum], loss))
      const expected = evaluated[at]?.loss ?? NaN
      const found = alone.metrics["loss:sum"] ?? NaN
      yield* Check.expectClose(`loss:sum of datum ${at}`, [found], [expected], 0.03 + 0.01 * Math.abs(expected))
      for (const { logprobs: [scores = []] } of [alone, { logprobs: whole.logprobs.slice(at) }]) {
        yield* Check.expectClose(`logprobs of datum ${at}`, scores, logprobs[at] ?? [], 0.03)
      }
    }
    const byGradient = map(data, ({ modelInput, inputs: { targetTokens } }, at) =>
      Datum.weightedTokens(modelInput, {
        targetTokens,
        weights: Float32Array.from(evaluated[at]?.gradient ?? [], (slope) => -slope)
      }))
    const { expected, learningRate } = yield* rateFor(moved, byGradient)
    const together = yield* moved((client) => client.forwardBackward(data, loss), learningRate)
    yield* expectSame("the step of one pass", together.change, expected)
    const apart = yield* moved(
      (client) => Effect.forEach(data.toReversed(), (datum) => client.forwardBackward([datum], loss)),
      learningRate
    )
    yield* expectSame("the step of a pass for each", apart.change, expected)
  })
})

export const crossEntropy: Check.Check = {
  theme: "gradients",
  name: "cross_entropy of random data, with weights of any sign, equals its formula however it is split into passes",
  why: "Losses that are right for a few tokens may be wrong for real batches, and no curve shows it.",
  run: Effect.gen(function*() {
    const { logprobs, moved, origin } = yield* begun(900)
    const weightOf = (at: number) => (place: number) => Chance.one(4000 + at, place, [1, 0, -0.5, 2, 0.1, -1])
    const data = map(lengths, (length, at) => weightedOf(900 + at, length, weightOf(at)))
    const lossOf = ({ inputs: { weights } }: Weighted, at: number) =>
      weights.reduce((sum, weight, place) => sum - weight * (logprobs[at]?.[place] ?? NaN), 0)
    const value = data.map(lossOf).reduce((sum, one) => sum + one, 0)
    const whole = yield* StateTwins.run(origin.forward(data, Loss.crossEntropy))
    yield* Check.expectClose("loss:sum", [whole.metrics["loss:sum"] ?? NaN], [value], 0.5 + 0.002 * Math.abs(value))
    const { expected, learningRate } = yield* rateFor(moved, data)
    const [first, ...others] = data.toReversed()
    if (first === undefined) return
    const reversed = yield* moved(
      (client) => client.forwardBackward([first, ...others], Loss.crossEntropy),
      learningRate
    )
    yield* expectSame("the step of the data in another order", reversed.change, expected)
    const apart = yield* moved(
      (client) => Effect.forEach(data, (datum) => client.forwardBackward([datum], Loss.crossEntropy)),
      learningRate
    )
    yield* expectSame("the step of a pass for each", apart.change, expected)
    const twice = yield* moved(
      (client) => client.forwardBackward([...data, ...data], Loss.crossEntropy),
      learningRate / 2
    )
    yield* expectSame("half the step of all data twice", twice.change, expected)
    const byTokens = map(data, ({ inputs, modelInput }) => Datum.weightedTokens(modelInput, inputs))
    const single = yield* moved(
      (client) =>
        Effect.forEach([0, 1, 2], (part) =>
          client.forwardBackward(
            map(byTokens, ({ inputs, modelInput }) =>
              Datum.weightedTokens(modelInput, {
                ...inputs,
                weights: inputs.weights.map((weight, place) => place % 3 === part ? weight : 0)
              })),
            Loss.crossEntropy
          )),
      learningRate
    )
    yield* expectSame("the step of every third position at a time", single.change, expected)
  })
}

/** Candidates per position. */
const candidates = 3

/**
 * One datum per candidate sequence of a text. At many positions the candidates' weights do not sum to 1; at some their
 * sum is zero or negative.
 */
const hardOf = (stream: number, length: number) =>
  Array.from({ length: candidates }, (_, candidate) =>
    Datum.weightedTokens(inputOf(stream, length), {
      targetTokens: tokensOf(stream + 500 + 100 * candidate, length),
      weights: Float32Array.from({ length }, (_, at) =>
        Chance.one(stream + 5000 + 100 * candidate, at, [0.5, 1, 0, 2, -1, 0.1]))
    }))

/** The candidates of `hardOf` in one datum. */
const softOf = (stream: number, length: number): Datum.Datum<"WeightedCandidates"> => {
  const hard = hardOf(stream, length)
  const rows = Array.from({ length }, (_, at) =>
    hard.map(({ inputs: { targetTokens, weights } }) => ({
      target: targetTokens[at] ?? 0,
      weight: weights[at] ?? NaN
    }))).flat()
  return {
    kind: "WeightedCandidates",
    modelInput: inputOf(stream, length),
    inputs: {
      candidates,
      targetTokens: Int32Array.from(rows, ({ target }) => target),
      weights: Float32Array.from(rows, ({ weight }) => weight)
    }
  }
}

export const softTargets: Check.Check = {
  theme: "gradients",
  name: "random soft targets have the summed value and gradient of their candidates, whatever their weights sum to",
  why:
    "Distillation sends only the most likely candidates, and a server that normalizes their weights changes the targets.",
  run: Effect.gen(function*() {
    const { moved, origin } = yield* begun(1500)
    const soft = map(lengths, (length, at) => softOf(1500 + at, length))
    const [first, ...others] = lengths.flatMap((length, at) => hardOf(1500 + at, length))
    if (first === undefined) return
    const hard = [first, ...others] as const
    const lossOf = (pass: ReturnType<typeof origin.forward>) =>
      Effect.map(StateTwins.run(pass), ({ metrics }) => metrics["loss:sum"] ?? NaN)
    const value = yield* lossOf(origin.forward(hard, Loss.crossEntropy))
    const found = yield* lossOf(origin.forward(soft, Loss.crossEntropyCandidates))
    yield* Check.expectClose("loss:sum", [found], [value], 0.5 + 0.002 * Math.abs(value))
    const { expected, learningRate } = yield* rateFor(moved, hard)
    const together = yield* moved(
      (client) => client.forwardBackward(soft, Loss.crossEntropyCandidates),
      learningRate
    )
    yield* expectSame("the step of soft targets", together.change, expected)
  })
}

const tensor = (data: ArrayLike<number>, dtype: string) => ({ data: Array.from(data), dtype, shape: [data.length] })

const numbers = (data: Float32Array | BigInt64Array | undefined) => Array.from(data ?? [], Number)

/** A policy's datum as JSON. */
const written = (stream: number, { inputs }: Policy) => ({
  model_input: Examples.prompt([...tokensOf(stream, inputs.targetTokens.length)]),
  loss_fn_inputs: {
    target_tokens: tensor(inputs.targetTokens, "int64"),
    logprobs: tensor(inputs.logprobs, "float32"),
    advantages: tensor(inputs.advantages, "float32")
  }
})

export const inJson: Check.Check = {
  theme: "losses",
  name: "passes of random data sent as JSON have the values of their formulas for each datum",
  why: "SDKs before 0.25 and other clients send JSON, and clients that send protobuf would not notice its errors.",
  run: Effect.gen(function*() {
    const { logprobs } = yield* begun(1200)
    const data = map(lengths, (length, at) => policyOf(1200 + at, length, logprobs[at] ?? new Float32Array(length)))
    const model = yield* NumberedModel.make
    for (const { expression, loss } of losses) {
      const input = {
        data: data.map((datum, at) => written(1200 + at, datum)),
        loss_fn: loss.name,
        loss_fn_config: loss.config
      }
      const evaluated = yield* Effect.forEach(
        data,
        (datum, at) => Effect.orDie(Effect.fromResult(LossExpression.evaluate(expression, datum, logprobs[at] ?? [])))
      )
      for (const path of ["/forward", "/forward_backward"]) {
        const field = path === "/forward" ? "forward_input" : "forward_backward_input"
        const { metrics, outputs } = yield* Effect.flatMap(model.ask(path, { [field]: input }), Examples.outputOf)
        const size = evaluated.reduce((sum, one) => sum + Math.abs(one.loss), 0)
        const value = evaluated.reduce((sum, one) => sum + one.loss, 0)
        yield* Check.expectClose(`loss:sum of ${loss.name}`, [metrics["loss:sum"] ?? NaN], [value], 0.05 + 0.01 * size)
        yield* Check.expect(outputs.length === data.length, `${data.length} outputs`, outputs.length)
        for (const [at, output] of outputs.entries()) {
          const what = `datum ${at} of ${loss.name}`
          yield* Check.expectClose(`logprobs of ${what}`, numbers(output["logprobs"]?.data), logprobs[at] ?? [], 0.03)
          const losses = output["elementwise_loss"]
          if (losses === undefined) continue
          const [found, expected] = [
            numbers(losses.data).reduce((sum, one) => sum + one, 0),
            evaluated[at]?.loss ?? NaN
          ]
          yield* Check.expectClose(`elementwise_loss of ${what}`, [found], [expected], 0.05 + 0.02 * Math.abs(expected))
        }
      }
    }
  })
}

export const all = [inJson, crossEntropy, softTargets, ...losses.map(ofLoss)]
