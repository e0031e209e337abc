/** Compares preference training with vectors recorded from tinker-cookbook. */
import { LearningRate } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as DpoLoss from "@effect-rl/core/preference/DpoLoss"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"

const Numbers = Schema.Array(Schema.Number)

const Metrics = Schema.Struct({
  dpo_loss: Schema.Number,
  accuracy: Schema.Number,
  margin: Schema.Number,
  chosen_reward: Schema.Number,
  rejected_reward: Schema.Number
})

const UpdateCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("update"),
  input: Schema.Struct({
    datums: Schema.Array(Schema.Struct({ input_tokens: Numbers, target_tokens: Numbers, weights: Numbers })),
    logprobs: Schema.Array(Numbers),
    reference_logprobs: Schema.Array(Schema.Array(Schema.NullOr(Schema.Number))),
    dpo_beta: Schema.Number,
    learning_rate: Schema.Number,
    lr_schedule: Schema.Literals(["linear", "cosine", "constant"]),
    step: Schema.Int,
    total_steps: Schema.Int
  }),
  output: Schema.Struct({
    loss: Schema.Number,
    metrics: Metrics,
    grad: Schema.Array(Numbers),
    adam: Schema.Struct({ learning_rate: Schema.Number })
  })
})

const LossCase = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("loss"),
  input: Schema.Struct({
    chosen: Numbers,
    rejected: Numbers,
    chosen_reference: Numbers,
    rejected_reference: Numbers,
    dpo_beta: Schema.Number
  }),
  output: Schema.Struct({ loss: Schema.Number, metrics: Metrics, grad_chosen: Numbers, grad_rejected: Numbers })
})

const lines = TrainingVectors.lines("dpo.jsonl")

const ofKind = <A>(kind: string, schema: Schema.Codec<A, unknown>) =>
  lines.filter(Schema.is(Schema.Struct({ kind: Schema.Literal(kind) }))).map((line) =>
    Schema.decodeUnknownSync(schema)(line)
  )

const updates = ofKind("update", UpdateCase)
const losses = ofKind("loss", LossCase)

const schedules = {
  linear: (peak: number) => LearningRate.linear({ peak }),
  cosine: (peak: number) => LearningRate.cosine({ peak }),
  constant: LearningRate.constant
}

const sameMetrics = (
  id: string,
  found: Readonly<Record<string, number>> | undefined,
  expected: typeof Metrics.Type
) => {
  const values = {
    loss: expected.dpo_loss,
    accuracy: expected.accuracy,
    margin: expected.margin,
    chosen_reward: expected.chosen_reward,
    rejected_reward: expected.rejected_reward
  }
  for (const [name, value] of Object.entries(values)) {
    const number = found?.[`dpo/${name}`] ?? NaN
    assert.isTrue(TrainingVectors.isClose(number, value, 2e-6), `${id}: ${name} is ${number}, expected ${value}`)
  }
}

const single = (weight: number) =>
  Datum.weightedTokens(ModelInput.fromTokens([0]), {
    targetTokens: Int32Array.of(0),
    weights: Float32Array.of(weight)
  })

describe("preference training recorded from tinker-cookbook", () => {
  it("is compared in every row", () => assert.strictEqual(updates.length + losses.length, lines.length))

  it.each(updates)(
    "a whole update has the same loss, gradient, metrics and learning rate: $id",
    ({ id, input, output }) => {
      const data = input.datums.map(({ input_tokens, target_tokens, weights }) =>
        Datum.weightedTokens(ModelInput.fromTokens(input_tokens), {
          targetTokens: Int32Array.from(target_tokens),
          weights: Float32Array.from(weights)
        })
      )
      const found = DpoLoss.compute(
        data,
        input.logprobs.map((row) => Float32Array.from(row)),
        {
          referenceDT: input.reference_logprobs.map((row) => Float32Array.from(row.slice(1), (value) => value ?? NaN)),
          beta: input.dpo_beta
        }
      )
      assert.isTrue(TrainingVectors.isClose(found.loss, output.loss, 2e-6))
      sameMetrics(id, found.metrics, output.metrics)
      for (const [d, gradient] of output.grad.entries()) {
        for (const [t, slope] of gradient.entries()) {
          assert.isTrue(TrainingVectors.isClose(found.gradients[d]?.[t] ?? NaN, slope, 2e-6), `${d}, ${t}`)
        }
      }
      const { learning_rate: peak, lr_schedule: schedule, step: iteration, total_steps: iterations } = input
      assert.closeTo(schedules[schedule](peak).at({ iteration, iterations }), output.adam.learning_rate, 1e-15)
    }
  )

  it.each(losses)("the losses of whole sequences match: $id", ({ id, input, output }) => {
    const interleaved = (chosen: ReadonlyArray<number>, rejected: ReadonlyArray<number>) =>
      chosen.flatMap((value, pair) => [Float32Array.of(value), Float32Array.of(rejected[pair] ?? NaN)])
    const policy = interleaved(input.chosen, input.rejected)
    const reference = interleaved(input.chosen_reference, input.rejected_reference)
    const found = DpoLoss.compute(policy.map(() => single(1)), policy, {
      referenceDT: reference,
      beta: input.dpo_beta
    })
    assert.isTrue(TrainingVectors.isClose(found.loss, output.loss, 2e-6))
    sameMetrics(id, found.metrics, output.metrics)
    const gradients = interleaved(output.grad_chosen, output.grad_rejected)
    for (const [d, gradient] of gradients.entries()) {
      assert.closeTo(found.gradients[d]?.[0] ?? NaN, gradient[0] ?? NaN, 2e-6)
    }
  })
})
