import { PolicyLoss, Rl } from "@effect-rl/core"
import { LossExpression } from "@effect-rl/core/losses"
import { Aggregation } from "@effect-rl/core/program"
import { Call } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Effect, Result, Schema, Stream } from "effect"
import * as Samples from "../learn/Samples.ts"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as Task from "./Task.ts"

const Numbers = Schema.Array(Schema.Number)

const Recorded = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("aggregation"),
  input: Schema.Struct({
    padded_width: Schema.Int,
    token_losses: Schema.Array(Numbers),
    mask: Schema.Array(Numbers)
  }),
  output: Schema.Struct({
    "token-mean": Schema.Number,
    "token-sum": Schema.Number,
    "seq-mean-token-sum": Schema.Number,
    "seq-mean-token-sum-norm": Schema.Number,
    "seq-mean-token-mean": Schema.Number,
    "seq-mean-token-sum-norm(loss_scale_factor=16)": Schema.Number
  })
})

const recorded = TrainingVectors.lines("losses.jsonl").filter((line) => Schema.is(Recorded)(line))

const data = (losses: ReadonlyArray<ReadonlyArray<number>>, masks: ReadonlyArray<ReadonlyArray<number>>) => {
  const made = losses.map((advantages, d) =>
    Samples.datum({ logprobs: advantages.map(() => -1), advantages, mask: masks[d] ?? [] })
  )
  return Arr.isReadonlyArrayNonEmpty(made) ? made : assert.fail("no data")
}

/** The sum over trained tokens, as losses compute it. */
const total = (data: ReadonlyArray<ReturnType<typeof Samples.datum>>) =>
  data.reduce(
    (sum, { inputs: { advantages, mask } }) =>
      advantages.reduce((sum, advantage, t) => mask[t] === 1 ? sum + advantage : sum, sum),
    0
  )

const proportional: ReadonlyArray<LossExpression.LossExpression> = [
  PolicyLoss.importanceSampling,
  PolicyLoss.ppo(),
  PolicyLoss.cispo(),
  PolicyLoss.sapo(),
  PolicyLoss.topr,
  PolicyLoss.gmpo()
]

describe("an update's aggregation", () => {
  it.each(recorded)("matches verl: $id", ({ input, output }) => {
    const all = data(input.token_losses, input.mask)
    for (const name of Aggregation.names) {
      const found = total(Aggregation.aggregate(all, { name, constant: input.padded_width }))
      assert.isTrue(TrainingVectors.isClose(found, output[name], 2e-6), `${name}: ${found}, expected ${output[name]}`)
    }
    const constant = total(Aggregation.aggregate(all, { name: "seq-mean-token-sum-norm", constant: 16 }))
    assert.isTrue(
      TrainingVectors.isClose(constant, output["seq-mean-token-sum-norm(loss_scale_factor=16)"], 2e-6)
    )
  })

  it("of sequences with equal lengths is the same for all means over tokens and sequences", () => {
    const equal = data([[1, 2], [3, -1]], [[1, 1], [1, 1]])
    const sums = Aggregation.names.map((name) => total(Aggregation.aggregate(equal, { name, constant: 2 })))
    assert.deepStrictEqual(sums, [5, 1.25, 2.5, 1.25, 1.25])
  })

  it("does not change data without trained tokens", () => {
    const untrained = data([[1, 2]], [[0, 0]])
    for (const name of Aggregation.names) {
      assert.deepStrictEqual(Aggregation.aggregate(untrained, { name, constant: 2 }), untrained)
    }
  })

  it.each(proportional)("scales the gradient of $name, which is proportional to the advantages", (loss) => {
    const datum = Samples.datum({ logprobs: [-1, -0.5, -2], advantages: [1, 1, 1] })
    const scaled = Samples.datum({ logprobs: [-1, -0.5, -2], advantages: [0.25, 0.25, 0.25] })
    const logprobs = Float32Array.of(-0.9, -0.6, -2.2)
    const [whole, quarter] = [datum, scaled].map((datum) =>
      Result.getOrThrow(LossExpression.evaluate(loss, datum, logprobs))
    )
    whole?.gradient.forEach((slope, t) => assert.closeTo(quarter?.gradient[t] ?? NaN, slope / 4, 1e-6))
  })
})

/** The advantages of each pass. */
const trained = Effect.map(
  Call.CallLog.use(({ calls }) => calls),
  (calls) =>
    calls.flatMap((call) =>
      call._tag === "ForwardBackward"
        ? [call.data.map(({ inputs }) => "advantages" in inputs ? Array.from(inputs.advantages) : [])]
        : []
    )
)

const run = (overrides: Task.Overrides = {}) =>
  Stream.unwrap(Effect.map(Task.options(overrides), (options) => Rl.run(options)))

const half = Task.layer({ sample: Task.answersHalf })

describe("a run with an aggregation", () => {
  it.effect("trains on advantages divided by the update's number of tokens", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run())
      const sums = yield* trained
      const means = yield* Effect.provide(
        Effect.andThen(Stream.runDrain(run({ update: { aggregation: "token-mean" } })), trained),
        Task.layer({ sample: Task.answersHalf }),
        { local: true }
      )
      assert.isAbove(sums.length, 0)
      for (const [pass, datums] of sums.entries()) {
        const tokens = datums.flat().filter((advantage) => advantage !== 0).length
        const expected = datums.map((advantages) => advantages.map((advantage) => Math.fround(advantage / tokens)))
        means[pass]?.forEach((advantages, d) =>
          advantages.forEach((advantage, t) => assert.closeTo(advantage, expected[d]?.[t] ?? NaN, 1e-7))
        )
        assert.strictEqual(means[pass]?.length, datums.length)
      }
    }).pipe(Effect.provide(half)))

  it.effect("is not resumed with another aggregation", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(run({ run: { iterations: 1 } }))
      const error = yield* Effect.flip(Stream.runDrain(run({ update: { aggregation: "seq-mean-token-mean" } })))
      assert.include(error.message, "aggregation")
    }).pipe(Effect.provide(half)))

  it.effect("is refused for a loss that is not proportional to the advantage, and with an aggregationLength that it does not use", () =>
    Effect.gen(function*() {
      const dro = yield* Effect.flip(
        Stream.runDrain(run({ update: { loss: PolicyLoss.dro(), aggregation: "token-mean" } }))
      )
      assert.include(dro.message, `update.aggregation is token-mean, expected token-sum for the loss "dro"`)
      const length = yield* Effect.flip(Stream.runDrain(run({ update: { aggregationLength: 8 } })))
      assert.include(length.message, "update.aggregationLength is 8, expected left out")
    }).pipe(Effect.provide(half)))
})
