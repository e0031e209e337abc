/** Vectors recorded by executing tinker-cookbook's supervised code. */
import {
  Datum,
  LearningRate,
  ModelInput,
  Nll,
  RunRecord,
  Supervised,
  type SupervisedDataset,
  WeightedDatum
} from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as Task from "../rl/Task.ts"

const Numbers = Schema.Array(Schema.Number)

const Chunk = Schema.Union([
  Schema.Struct({ type: Schema.Literal("encoded_text"), tokens: Numbers }),
  Schema.Struct({
    type: Schema.Literals(["image", "image_asset_pointer"]),
    data_base64: Schema.optionalKey(Schema.String),
    expected_tokens: Schema.Int
  })
])

const inputOf = (chunks: ReadonlyArray<typeof Chunk.Type>) =>
  ModelInput.fromChunks(chunks.map((chunk) =>
    chunk.type === "encoded_text"
      ? { _tag: "EncodedText", tokens: Int32Array.from(chunk.tokens) }
      : {
        _tag: "Image",
        data: new TextEncoder().encode(chunk.data_base64 ?? chunk.type),
        format: "png",
        expectedTokens: chunk.expected_tokens
      }
  ))

const DatumCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("datum"),
  input: Schema.Struct({
    chunks: Schema.Array(Chunk),
    weights: Numbers,
    max_length: Schema.NullOr(Schema.Int),
    reduction: Schema.Literals(["none", "mean"])
  }),
  output: Schema.Union([
    Schema.Struct({ error: Schema.String }),
    Schema.Struct({ input_chunks: Schema.Array(Chunk), target_tokens: Numbers, weights: Numbers })
  ])
})

const NllCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("mean_nll"),
  input: Schema.Struct({ logprobs: Schema.Array(Numbers), weights: Schema.Array(Numbers) }),
  output: Schema.Struct({ mean_nll: Schema.Number })
})

const ScheduleCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("lr_schedule"),
  input: Schema.Struct({ schedule: Schema.Literals(["linear", "cosine", "constant"]), total_steps: Schema.Int }),
  output: Schema.Struct({ multipliers: Numbers })
})

const Sequence = Schema.Struct({
  input_tokens: Numbers,
  target_tokens: Numbers,
  weights: Numbers,
  logprobs: Numbers
})

const LoopCase = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    batches: Schema.Int,
    epochs: Schema.Int,
    max_steps: Schema.NullOr(Schema.Int),
    resume: Schema.Null,
    lr_schedule: Schema.Literals(["linear", "constant"]),
    learning_rate: Schema.Number,
    rows: Schema.Array(Schema.Array(Sequence))
  }),
  output: Schema.Struct({
    metrics: Schema.Array(Schema.Struct({
      learning_rate: Schema.Number,
      num_sequences: Schema.Int,
      num_tokens: Schema.Int,
      train_mean_nll: Schema.Number
    }))
  })
})

/** The dataset of a recorded loop, and a backend that answers as the recorded one. */
const loop = ({ batches, epochs, rows }: typeof LoopCase.Type["input"]) => {
  const dataset: SupervisedDataset.SupervisedDataset = {
    length: batches * epochs,
    fingerprint: "recorded",
    batch: (index) =>
      Effect.succeed(
        (rows[index % batches] ?? []).map(({ input_tokens, target_tokens, weights }) =>
          Datum.weightedTokens(ModelInput.fromTokens(input_tokens), {
            targetTokens: Int32Array.from(target_tokens),
            weights: Float32Array.from(weights)
          })
        )
      )
  }
  const backend = Task.layer({
    forwardBackward: (_, { call }) => ({
      logprobs: (rows[call % batches] ?? []).map(({ logprobs }) => Float32Array.from(logprobs)),
      metrics: { "loss:sum": 0 }
    })
  })
  return { dataset, backend }
}

const all = TrainingVectors.lines("supervised.jsonl")

const cases = <A>(schema: Schema.Codec<A, unknown>) => (all ?? []).filter((row): row is A => Schema.is(schema)(row))

const datum = (weights: ReadonlyArray<number>) =>
  Datum.weightedTokens(ModelInput.fromTokens(weights.map(() => 0)), {
    targetTokens: new Int32Array(weights.length),
    weights: Float32Array.from(weights)
  })

const schedules = {
  linear: LearningRate.linear({ peak: 1 }),
  cosine: LearningRate.cosine({ peak: 1 }),
  constant: LearningRate.constant(1)
}

describe.skipIf(all === undefined)("vectors of supervised learning", () => {
  it.effect("datums are cut, shifted and weighted alike", () =>
    Effect.gen(function*() {
      const rows = cases(DatumCase)
      assert.isAbove(rows.length, 20)
      for (const { id, input: { chunks, max_length, reduction, weights }, output } of rows) {
        const input = inputOf(chunks)
        const made = yield* Effect.result(WeightedDatum.fromExample(
          { input, weights: Float32Array.from(weights) },
          { reduction, ...(max_length === null ? {} : { maxLength: max_length }) }
        ))
        if ("error" in output || weights.length !== input.length) {
          assert.isTrue(Result.isFailure(made), `${id}: weights that do not fit are refused, not padded`)
          continue
        }
        assert(Result.isSuccess(made), id)
        const { inputs, modelInput } = made.success
        assert.isTrue(ModelInput.equals(modelInput, inputOf(output.input_chunks)), id)
        assert.deepStrictEqual(Array.from(inputs.targetTokens), output.target_tokens, id)
        assert.isTrue(
          inputs.weights.every((weight, t) => TrainingVectors.isClose(weight, output.weights[t] ?? NaN, 2e-6)),
          id
        )
        assert.lengthOf(inputs.weights, output.weights.length, id)
      }
    }))

  it("the mean negative log-likelihood is the same, and absent where nothing has a weight", () => {
    const rows = cases(NllCase)
    assert.isAbove(rows.length, 5)
    for (const { id, input: { logprobs, weights }, output } of rows) {
      const { nll = NaN } = Nll.mean(Nll.sums(weights.map(datum), logprobs.map((row) => Float32Array.from(row))))
      assert.isTrue(TrainingVectors.isClose(nll, output.mean_nll, 2e-6), `${id}: ${nll}, expected ${output.mean_nll}`)
    }
  })

  it("learning rates fall alike", () => {
    const rows = cases(ScheduleCase)
    assert.isAbove(rows.length, 8)
    for (const { id, input: { schedule, total_steps: iterations }, output } of rows) {
      for (const [iteration, multiplier] of output.multipliers.slice(0, iterations).entries()) {
        assert.closeTo(schedules[schedule].at({ iteration, iterations }), multiplier, 1e-12, id)
      }
    }
  })

  it.effect("whole loops report the same numbers for every iteration", () =>
    Effect.gen(function*() {
      const loops = (TrainingVectors.lines("sftloop.jsonl") ?? []).filter((row) => Schema.is(LoopCase)(row))
      assert.isAbove(loops.length, 4)
      for (const { id, input, output } of loops) {
        const { backend, dataset } = loop(input)
        const { learning_rate: peak, lr_schedule: schedule, max_steps: iterations } = input
        const learningRate = schedule === "linear" ? LearningRate.linear({ peak }) : LearningRate.constant(peak)
        const updates = yield* Effect.gen(function*() {
          const model = yield* Task.model
          const run = { evalEvery: 0, ...(iterations === null ? {} : { iterations }) }
          yield* Stream.runDrain(Supervised.run({ model, dataset, update: { learningRate }, run }))
          return yield* Task.current(RunRecord.guards.Updated)
        }).pipe(Effect.provide(backend, { local: true }))
        assert.lengthOf(updates, output.metrics.length, id)
        for (const [index, expected] of output.metrics.entries()) {
          const metrics = updates[index]?.metrics ?? {}
          assert.strictEqual(metrics["optim/datums"], expected.num_sequences, id)
          assert.strictEqual(metrics["tokens/trained"], expected.num_tokens, id)
          assert.closeTo(metrics["optim/lr"] ?? NaN, expected.learning_rate, 1e-15, id)
          assert.closeTo(metrics["nll"] ?? NaN, expected.train_mean_nll, 2e-6, id)
        }
      }
    }))
})
