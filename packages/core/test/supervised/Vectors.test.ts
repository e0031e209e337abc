/** Vectors recorded from tinker-cookbook's supervised code. */
import { LearningRate, RunRecord, Supervised, type SupervisedDataset } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as Epochs from "@effect-rl/core/data/Epochs"
import { BitsPerByte, Nll, WeightedDatum } from "@effect-rl/core/program"
import { Call, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as RecordedLines from "../RecordedLines.ts"
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

const BytesCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("bits_per_byte"),
  input: Schema.Struct({
    logprobs: Schema.Array(Numbers),
    weights: Schema.Array(Numbers),
    target_tokens: Schema.Array(Numbers),
    vocabulary_hex: Schema.Record(Schema.String, Schema.String),
    special_token_ids: Numbers
  }),
  output: Schema.Struct({ bits_per_byte: Schema.Number })
})

/** A tokenizer with one token per byte and some special tokens. */
const tokenizerOf = ({ special_token_ids, vocabulary_hex }: typeof BytesCase.Type["input"]) => {
  const bytesOf = (token: number) => Buffer.from(vocabulary_hex[token] ?? "", "hex")
  const decode = (tokens: ArrayLike<number>) =>
    new TextDecoder().decode(Uint8Array.from(Array.from(tokens).flatMap((token) => [...bytesOf(token)])))
  return {
    ...TestTokenizer.characters,
    decode,
    specialToken: (text: string) => special_token_ids.find((token) => decode([token]) === text)
  }
}

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
    calls: Schema.Array(Schema.Struct({
      call: Schema.optionalKey(Schema.String),
      sequences: Schema.optionalKey(Schema.Int),
      learning_rate: Schema.optionalKey(Schema.Number)
    })),
    metrics: Schema.Array(Schema.Struct({
      learning_rate: Schema.Number,
      num_sequences: Schema.Int,
      num_tokens: Schema.Int,
      train_mean_nll: Schema.Number
    }))
  })
})

/** The dataset of a recorded loop, and a backend that repeats the recorded answers. */
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

const BatchesCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("batches"),
  input: Schema.Struct({ rows: Schema.Int, batch_size: Schema.Int }),
  output: Schema.Struct({
    length: Schema.Int,
    before_set_epoch: Schema.Array(Numbers),
    epochs: Schema.Array(Schema.Struct({ batches: Schema.Array(Numbers) }))
  })
})

const lines = TrainingVectors.lines("supervised.jsonl")

const isOutside = Schema.is(
  Schema.Struct({ kind: Schema.Literal("lr_schedule"), input: Schema.Struct({ step: Schema.Int }) })
)

const isSplit = Schema.is(Schema.Struct({ kind: Schema.Literal("split") }))

/** Why a row is excluded from the comparison. */
const reasonOf = (line: unknown): string | undefined => {
  if (isOutside(line)) {
    return "a schedule of another name, or a step that no run reaches: schedules are functions of a run's iterations"
  }
  return isSplit(line) ? "compared with Training.split" : undefined
}

/** The names of the kinds in tinker-cookbook at commit `9dfcc3a`. */
const names = new Map([
  ["supervised_datum", "datum"],
  ["mean_nll", "mean_nll"],
  ["bits_per_byte", "bits_per_byte"]
])

const ofCommit = TrainingVectors.cookbookRows("misc.jsonl").flatMap((row) => {
  const kind = names.get(row.kind)
  return kind === undefined ? [] : [{ ...row, kind }]
})

const cases = <A>(kind: string, schema: Schema.Codec<A, unknown>) =>
  [...lines, ...ofCommit].filter((line) =>
    Schema.is(Schema.Struct({ kind: Schema.Literal(kind) }))(line) && reasonOf(line) === undefined
  )
    .map((line) => Schema.decodeUnknownSync(schema)(line))

const datum = (weights: ReadonlyArray<number>, targets: ReadonlyArray<number> = weights.map(() => 0)) =>
  Datum.weightedTokens(ModelInput.fromTokens(weights.map(() => 0)), {
    targetTokens: Int32Array.from(targets),
    weights: Float32Array.from(weights)
  })

const schedules = {
  linear: LearningRate.linear({ peak: 1 }),
  cosine: LearningRate.cosine({ peak: 1 }),
  constant: LearningRate.constant(1)
}

const datums = cases("datum", DatumCase)
const likelihoods = cases("mean_nll", NllCase)
const compressions = cases("bits_per_byte", BytesCase)
const rates = cases("lr_schedule", ScheduleCase)
const batches = cases("batches", BatchesCase)

describe("supervised learning vectors", () => {
  it("are compared, or left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(lines, reasonOf),
      RecordedLines.accountOf("core/training/supervised.jsonl.gz")
    )
    const counts = [datums, likelihoods, compressions, rates, batches].map(({ length }) => length)
    assert.deepStrictEqual(counts, [23 + 26, 9 + 7, 9, 10, 4])
  })

  it.effect.each(datums)(
    "a datum is cut, shifted and weighted alike: $id",
    ({ input: { chunks, max_length, reduction, weights }, output }) =>
      Effect.gen(function*() {
        const input = inputOf(chunks)
        const made = yield* Effect.result(WeightedDatum.fromExample(
          { input, weights: Float32Array.from(weights) },
          { reduction, ...(max_length === null ? {} : { maxLength: max_length }) }
        ))
        if ("error" in output || weights.length !== input.length) {
          return assert.isTrue(Result.isFailure(made), "weights that do not fit are refused, not padded")
        }
        const { inputs, modelInput } = Result.getOrThrow(made)
        assert.isTrue(ModelInput.equals(modelInput, inputOf(output.input_chunks)))
        assert.deepStrictEqual(Array.from(inputs.targetTokens), output.target_tokens)
        assert.lengthOf(inputs.weights, output.weights.length)
        output.weights.forEach((weight, t) =>
          assert.isTrue(TrainingVectors.isClose(inputs.weights[t] ?? NaN, weight, 2e-6), `weight ${t}`)
        )
      })
  )

  it.each(likelihoods)(
    "the mean negative log-likelihood is the same, and absent if no token has a weight: $id",
    ({ input: { logprobs, weights }, output }) => {
      const { nll = NaN } = Nll.mean(
        Nll.sums(weights.map((row) => datum(row)), logprobs.map((row) => Float32Array.from(row)))
      )
      assert.isTrue(TrainingVectors.isClose(nll, output.mean_nll, 2e-6), `${nll}, expected ${output.mean_nll}`)
    }
  )

  it.each(compressions)("bits per byte are the same, and absent without bytes: $id", ({ input, output }) => {
    const data = input.weights.map((row, d) => datum(row, input.target_tokens[d]))
    const logprobs = input.logprobs.map((row) => Float32Array.from(row))
    const { bits_per_byte = NaN } = BitsPerByte.mean(BitsPerByte.sums(data, logprobs, tokenizerOf(input)))
    assert.isTrue(TrainingVectors.isClose(bits_per_byte, output.bits_per_byte, 2e-6), `${bits_per_byte}`)
  })

  it.each(rates)(
    "the learning rate schedules match: $id",
    ({ input: { schedule, total_steps: iterations }, output }) => {
      assert.lengthOf(output.multipliers, iterations + 1)
      for (const [iteration, multiplier] of output.multipliers.slice(0, iterations).entries()) {
        assert.closeTo(schedules[schedule].at({ iteration, iterations }), multiplier, 1e-12)
      }
    }
  )

  it.effect.each(batches)("batches have the same sizes: $id", ({ input, output }) =>
    Effect.gen(function*() {
      const rows = Array.from({ length: input.rows }, (_, row) => row)
      const options = { batchSize: input.batch_size, dropRemainder: true }
      const batchesOf = (epochs: Epochs.Epochs<number>, seed: number) =>
        Effect.forEach(
          Array.from({ length: epochs.length }, (_, index) => index),
          (index) => Effect.map(epochs.batch(index, seed), (placed) => placed.map(({ row }) => row))
        )
      const ordered = Epochs.make("recorded", rows, options)
      assert.strictEqual(ordered.length, output.length)
      assert.deepStrictEqual(yield* batchesOf(ordered, 0), output.before_set_epoch)
      const epochs = output.epochs.length
      const shuffled = Epochs.make("recorded", rows, { ...options, epochs, shuffle: true })
      const found = yield* batchesOf(shuffled, 1)
      const sizesOf = (batches: ReadonlyArray<ReadonlyArray<number>>) => batches.map(({ length }) => length)
      assert.deepStrictEqual(sizesOf(found), output.epochs.flatMap(({ batches }) => sizesOf(batches)))
      for (let epoch = 0; epoch < epochs; epoch++) {
        const seen = found.slice(epoch * output.length, (epoch + 1) * output.length).flat()
        assert.strictEqual(new Set(seen).size, seen.length)
      }
      assert.deepStrictEqual(yield* batchesOf(shuffled, 1), found)
    }))
})

const loopLines = TrainingVectors.lines("sftloop.jsonl")

const isResumed = Schema.is(
  Schema.Struct({ input: Schema.Struct({ resume: Schema.Struct({ batch: Schema.Int }) }) })
)

const loopReason = (line: unknown) =>
  isResumed(line)
    ? "resumes from a state of upstream's loop, which names its batch and not the run's records"
    : undefined

const loops = loopLines.filter((line) => loopReason(line) === undefined).map((line) =>
  Schema.decodeUnknownSync(LoopCase)(line)
)

/** A submitted pass with its sequences, or a step with its learning rate. */
interface Submitted {
  readonly call: "forward_backward" | "optim_step"
  readonly amount: number
}

const submitted = (calls: ReadonlyArray<Call.Call>): ReadonlyArray<Submitted> =>
  calls.flatMap((call): ReadonlyArray<Submitted> => {
    if (call._tag === "ForwardBackward") return [{ call: "forward_backward", amount: call.data.length }]
    return call._tag === "OptimStep" ? [{ call: "optim_step", amount: call.adam.learningRate }] : []
  })

const submittedUpstream = ({ calls }: typeof LoopCase.Type["output"]): ReadonlyArray<Submitted> =>
  calls.flatMap(({ call, learning_rate: rate = NaN, sequences = NaN }): ReadonlyArray<Submitted> => {
    if (call === "forward_backward") return [{ call, amount: sequences }]
    return call === "optim_step" ? [{ call, amount: rate }] : []
  })

describe("recorded supervised loops", () => {
  it("are replayed, or left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(loopLines, loopReason),
      RecordedLines.accountOf("core/training/sftloop.jsonl.gz")
    )
  })

  it.effect.each(loops)(
    "submit the same passes and steps, and report the same numbers: $id",
    ({ input, output }) =>
      Effect.gen(function*() {
        const { backend, dataset } = loop(input)
        const { learning_rate: peak, lr_schedule: schedule, max_steps: iterations } = input
        const learningRate = schedule === "linear" ? LearningRate.linear({ peak }) : LearningRate.constant(peak)
        const { calls, updates } = yield* Effect.gen(function*() {
          const model = yield* Task.model
          const run = { evalEvery: 0, ...(iterations === null ? {} : { iterations }) }
          yield* Stream.runDrain(Supervised.run({ model, dataset, update: { learningRate }, run }))
          const calls = submitted(yield* Call.CallLog.use(({ calls }) => calls))
          return { calls, updates: yield* Task.current(RunRecord.guards.Updated) }
        }).pipe(Effect.provide(backend, { local: true }))
        const expectedCalls = submittedUpstream(output)
        assert.deepStrictEqual(calls.map(({ call }) => call), expectedCalls.map(({ call }) => call))
        calls.forEach(({ amount }, index) => assert.closeTo(amount, expectedCalls[index]?.amount ?? NaN, 1e-15))
        assert.lengthOf(updates, output.metrics.length)
        for (const [index, expected] of output.metrics.entries()) {
          const metrics = updates[index]?.metrics ?? {}
          assert.strictEqual(metrics["optim/datums"], expected.num_sequences)
          assert.strictEqual(metrics["tokens/trained"], expected.num_tokens)
          assert.closeTo(metrics["optim/lr"] ?? NaN, expected.learning_rate, 1e-15)
          assert.closeTo(metrics["nll"] ?? NaN, expected.train_mean_nll, 2e-6)
        }
      })
  )
})
