import { Credit, Rl, RunRecord, Supervised, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import { Objective } from "@effect-rl/core/losses"
import { TopK } from "@effect-rl/core/program"
import { Call } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as Task from "../rl/Task.ts"
import * as Imitation from "../supervised/Imitation.ts"

const Numbers = Schema.Array(Schema.Number)
const Candidates = Schema.Array(Schema.NullOr(Schema.Array(Schema.Tuple([Schema.Number, Schema.Number]))))

const Loss = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("reverse_kl_loss"),
  input: Schema.Struct({
    weights: Schema.Array(Schema.Array(Numbers)),
    student_logprobs: Schema.Array(Schema.Array(Numbers))
  }),
  output: Schema.Struct({
    loss: Schema.Number,
    metrics: Schema.Record(Schema.String, Schema.Number),
    grad: Schema.Array(Schema.Array(Numbers))
  })
})

const Data = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("reverse_kl_datums"),
  input: Schema.Struct({
    datums: Schema.Array(TrainingVectors.Example),
    group_indices: Schema.Array(Schema.Int),
    teacher_prompts: Schema.Array(Numbers),
    max_context_length: Schema.Int,
    teacher_topk: Schema.Array(Candidates),
    topk: Schema.Int,
    skip_first_n_tokens: Schema.Int,
    vocab_size: Schema.NullOr(Schema.Int)
  }),
  output: Schema.Struct({
    target_tokens: Schema.Array(Schema.Array(Numbers)),
    weights: Schema.Array(Schema.Array(Numbers)),
    metrics: Schema.Record(Schema.String, Schema.Number)
  })
})

const OffPolicy = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("off_policy_topk"),
  input: Schema.Struct({
    datum: Schema.Struct({ input_tokens: Numbers, target_tokens: Numbers, weights: Numbers }),
    n_teacher_targets: Schema.Int,
    teacher_topk: Candidates
  }),
  output: Schema.Struct({ target_tokens: Schema.Array(Numbers), weights: Schema.Array(Numbers) })
})

const lines = TrainingVectors.lines("distill.jsonl")
const losses = lines.filter((line) => Schema.is(Loss)(line))
const data = lines.filter((line) => Schema.is(Data)(line))
const offPolicy = lines.filter((line) => Schema.is(OffPolicy)(line))

/** A teacher that returns recorded candidates with ids below a limit, request by request, and records its requests. */
const teacherOf = (recorded: ReadonlyArray<typeof Candidates.Type>, below = Infinity) => {
  const asked: Array<ReadonlyArray<number>> = []
  const client: SamplingClient.SamplingClient = {
    modelPath: "recorded",
    computeLogprobs: () => Effect.die(new Error("no single token is scored")),
    sample: ({ prompt }) =>
      Effect.map(Effect.orDie(ModelInput.toTokens(prompt)), (sequence) => {
        const topk = recorded[asked.length] ?? []
        asked.push(Array.from(sequence))
        return {
          sequences: [],
          topkPromptLogprobs: topk.map((candidates) =>
            (candidates ?? []).flatMap(([token, logprob]) => token < below ? [{ token, logprob }] : [])
          )
        }
      })
  }
  return { asked, client }
}

const isClose = (found: ArrayLike<number>, expected: ReadonlyArray<number>, what: string) => {
  assert.strictEqual(found.length, expected.length, what)
  expected.forEach((value, at) => {
    assert.isTrue(
      TrainingVectors.isClose(found[at] ?? NaN, value, 2e-6),
      `${what}[${at}]: ${found[at]}, expected ${value}`
    )
  })
}

/** Compares only targets with a weight, because only they are trained. */
const isSame = (
  { inputs }: Datum.Datum<"WeightedCandidates">,
  targets: ReadonlyArray<ReadonlyArray<number>>,
  weights: ReadonlyArray<ReadonlyArray<number>>
) => {
  isClose(inputs.weights, weights.flat(), "weights")
  const kept = (tokens: ArrayLike<number>) => Array.from(tokens, (token, at) => weights.flat()[at] === 0 ? 0 : token)
  assert.deepStrictEqual(kept(inputs.targetTokens), kept(targets.flat()))
}

describe("top-k distillation recorded from tinker-cookbook", () => {
  it("has all 18 recorded rows", () =>
    assert.deepStrictEqual([losses, data, offPolicy].map(({ length }) => length), [10, 4, 4]))

  it.each(losses)("has the same reverse KL divergence and gradient: $id", ({ input, output }) => {
    const soft = input.weights.map((rows): Datum.Datum<"WeightedCandidates"> => ({
      kind: "WeightedCandidates",
      modelInput: ModelInput.fromTokens(rows.map(() => 1)),
      inputs: {
        targetTokens: new Int32Array(rows.flat().length),
        weights: Float32Array.from(rows.flat()),
        candidates: rows[0]?.length ?? 1
      }
    }))
    const found = TopK.reverseKl(soft, input.student_logprobs.map((rows) => Float32Array.from(rows.flat())))
    assert.isTrue(TrainingVectors.isClose(found.loss, output.loss, 2e-6), `${found.loss}, expected ${output.loss}`)
    assert.strictEqual(found.positions, output.metrics["sdft/reverse_kl_positions"])
    if (found.positions > 0) {
      isClose([found.entropy / found.positions], [output.metrics["sdft/student_entropy_mean"] ?? NaN], "entropy")
    }
    output.grad.forEach((rows, d) => isClose(found.gradients[d] ?? [], rows.flat(), `gradient ${d}`))
  })

  it.effect.each(data)(
    "makes the same targets for a student's text: $id",
    ({ input, output }) =>
      Effect.gen(function*() {
        const { asked, client } = teacherOf(input.teacher_topk, input.vocab_size ?? Infinity)
        const { capabilities } = yield* Task.model
        const limit = input.max_context_length
        const teacher = {
          ...client,
          capabilities: { ...capabilities, contextLength: limit + 1, topkPromptLogprobs: 20 }
        }
        const targets = input.datums.map(({ input_tokens, mask, target_tokens }, index): TopK.Target => {
          const prompt = input.teacher_prompts[input.group_indices[index] ?? 0] ?? []
          const first = mask.includes(1) ? mask.indexOf(1) : target_tokens.length
          return {
            modelInput: ModelInput.fromTokens(input_tokens),
            sequence: ModelInput.fromTokens([...prompt, ...target_tokens.slice(first)]),
            trained: Float32Array.from(mask)
          }
        })
        const { skip_first_n_tokens: skipFirst, topk: k } = input
        const soft = yield* TopK.read({ teacher, k, skipFirst }, targets)
        assert.strictEqual(soft.positions, output.metrics["sdft/total_completion_positions"])
        isClose([soft.teacherEntropy ?? NaN], [output.metrics["sdft/mean_teacher_entropy"] ?? NaN], "entropy")
        assert.isTrue(asked.every(({ length }) => length <= limit))
        soft.data.forEach((datum, d) => isSame(datum, output.target_tokens[d] ?? [], output.weights[d] ?? []))
      }).pipe(Effect.provide(Task.layer()))
  )

  it.effect.each(offPolicy)(
    "makes the same targets for an example: $id",
    ({ input, output }) =>
      Effect.gen(function*() {
        const { client: teacher } = teacherOf([input.teacher_topk])
        const example = Datum.weightedTokens(ModelInput.fromTokens(input.datum.input_tokens), {
          targetTokens: Int32Array.from(input.datum.target_tokens),
          weights: Float32Array.from(input.datum.weights)
        })
        const soft = yield* TopK.read({ teacher, k: input.n_teacher_targets }, [TopK.asTarget(example)])
        soft.data.forEach((datum) => isSame(datum, output.target_tokens, output.weights))
      })
  )
})

describe("TopK.reverseKl", () => {
  it("is 0, without a gradient, if the student agrees with the teacher", () => {
    const soft: Datum.Datum<"WeightedCandidates"> = {
      kind: "WeightedCandidates",
      modelInput: ModelInput.fromTokens([1]),
      inputs: { targetTokens: Int32Array.of(4, 5), weights: Float32Array.of(0.25, 0.75), candidates: 2 }
    }
    const { gradients, loss } = TopK.reverseKl([soft], [Float32Array.of(Math.log(0.125), Math.log(0.375))])
    assert.closeTo(loss, 0, 1e-7)
    gradients[0]?.forEach((slope) => assert.closeTo(slope, 0, 1e-7))
  })
})

/** The teacher is the model before training, so the student only learns to restrict itself to the candidates. */
const teacher = Effect.map(Task.model, ({ name }) => name).pipe(
  Effect.flatMap((baseModel) => Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel })))
)

const candidatesTrained = Effect.map(
  Call.CallLog.use(({ calls }) => calls),
  (calls) =>
    calls.flatMap((call) =>
      call._tag === "ForwardBackward"
        ? call.data.flatMap(({ inputs }) => "candidates" in inputs ? [inputs.candidates] : [])
        : []
    )
)

describe.each(["forward", "reverse"] as const)(
  "a run with the %s divergence from the teacher's likeliest tokens",
  (divergence) => {
    it.effect("trains on every group, whatever its rewards, and on the teacher's two likeliest tokens at each position", () =>
      Effect.gen(function*() {
        const options = yield* Task.options()
        const loss = Objective.topK({ teacher: yield* teacher, k: 2, divergence })
        const update = { credit: Credit.everyGroup, loss, learningRate: 0.1 }
        yield* Stream.runDrain(Rl.run({ ...options, update }))
        const updates = yield* Task.current(RunRecord.guards.Updated)
        assert.lengthOf(updates, 2)
        // The teacher equals the student before training, so the divergence is 0 and the cross entropy is the teacher's entropy.
        const [first] = updates.map(({ metrics }) => metrics["loss:sum"] ?? NaN)
        if (divergence === "reverse") assert.closeTo(first ?? NaN, 0, 1e-4)
        else assert.isAbove(first ?? NaN, 0)
        const candidates = yield* candidatesTrained
        assert.isAbove(candidates.length, 0)
        assert.isTrue(candidates.every((count) => count === 2))
      }).pipe(Effect.scoped, Effect.provide(Task.layer())))
  }
)

describe("supervised training with a teacher's likeliest tokens", () => {
  it.effect("approaches the teacher, and is not resumed with another k", () =>
    Effect.gen(function*() {
      const options = yield* Imitation.options({ update: { learningRate: 1 } })
      const soft = { ...options, teacher: { teacher: yield* teacher, k: 3 } }
      yield* Stream.runDrain(Supervised.run({ ...soft, run: { ...soft.run, iterations: 4 } }))
      const divergences = (yield* Task.current(RunRecord.guards.Updated)).map(({ metrics }) =>
        metrics["teacher_kl"] ?? NaN
      )
      assert.isBelow(divergences.at(-1) ?? NaN, divergences[0] ?? NaN)
      const other = Supervised.run({ ...soft, teacher: { ...soft.teacher, k: 4 } })
      assert.include((yield* Effect.flip(Stream.runDrain(other))).message, "teacher")
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))
})
