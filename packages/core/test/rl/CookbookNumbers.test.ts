/** Numbers that tinker-cookbook at commit `9dfcc3a` computes outside of its training loops. */
import { Hyperparameters, LearningRate } from "@effect-rl/core"
import * as LoraParameters from "@effect-rl/core/catalog/LoraParameters"
import * as TokenAdvantages from "@effect-rl/core/learn/TokenAdvantages"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Samples from "../learn/Samples.ts"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as RecordedLines from "../RecordedLines.ts"

const rows = [...TrainingVectors.cookbookRows("kl.jsonl"), ...TrainingVectors.cookbookRows("misc.jsonl")]

const Failed = Schema.Struct({ error: Schema.String })

/** Why rows of a kind are excluded from the comparison. */
const reasons = new Map([
  ["sampling_client_metrics", "the step and the time of each group's sampling client have no counterpart"],
  ["interleaved_schedule", "CPython's random numbers decide the order; ours is another"],
  ["dict_mean", "a helper without a counterpart of its own"],
  ["all_same", "a helper without a counterpart of its own"],
  ["filename_component", "a helper without a counterpart of its own"],
  ["representative_indices", "a sample of groups for logs has no counterpart"]
])

const elsewhere = new Map([
  ["kl_penalty", "compared in learn/CreditVectors.test.ts"],
  ["post_kl", "compared in rl/metrics/MetricVectors.test.ts"],
  ["supervised_datum", "compared in supervised/Vectors.test.ts"],
  ["mean_nll", "compared in supervised/Vectors.test.ts"],
  ["bits_per_byte", "compared in supervised/Vectors.test.ts"]
])

const isOutside = Schema.is(
  Schema.Struct({ kind: Schema.Literal("lr_schedule"), output: Failed })
)

const reasonOf = (row: typeof rows[number]): string | undefined => {
  if (isOutside(row)) return "schedules are functions of a run's iterations, and typed by name: none to refuse"
  return reasons.get(row.kind) ?? elsewhere.get(row.kind)
}

const cases = <A>(schema: Schema.Codec<A, unknown>, kind: string) =>
  rows.filter((row) => row.kind === kind && reasonOf(row) === undefined).map((row) =>
    Schema.decodeUnknownSync(schema)(row)
  )

describe("tinker-cookbook's numbers", () => {
  it("are compared, or left out for a reason that VECTORS.md lists", () => {
    const counts = RecordedLines.counted(rows, reasonOf)
    assert.deepStrictEqual(counts, RecordedLines.accountOf("core/rl/kl.jsonl.gz and misc.jsonl.gz"))
  })

  const rates = cases(
    Schema.Struct({
      id: Schema.String,
      input: Schema.Struct({ model_name: Schema.String, is_lora: Schema.Boolean }),
      output: Schema.Union([Failed, Schema.Struct({ learning_rate: Schema.Number })])
    }),
    "get_lr"
  )
  it.effect.each(rates)("the learning rate of $input.model_name ($id)", ({ input, output }) =>
    Effect.gen(function*() {
      const found = yield* Effect.option(Hyperparameters.getLr(input.model_name, { isLora: input.is_lora }))
      if ("error" in output) return assert.isTrue(Option.isNone(found))
      assert.closeTo(Option.getOrElse(found, () => NaN), output.learning_rate, 1e-15)
    }))

  const counts = cases(
    Schema.Struct({
      id: Schema.String,
      input: Schema.Struct({
        model_name: Schema.String,
        lora_rank: Schema.Int,
        train_mlp: Schema.Boolean,
        train_attn: Schema.Boolean,
        train_unembed: Schema.Boolean
      }),
      output: Schema.Union([Failed, Schema.Struct({ count: Schema.Number })])
    }),
    "lora_param_count"
  )
  it.effect.each(counts)(
    "the LoRA parameters of $input.model_name ($id)",
    ({ input, output }) =>
      Effect.gen(function*() {
        const found = yield* Effect.option(LoraParameters.getLoraParamCount(input.model_name, {
          loraRank: input.lora_rank,
          trainMlp: input.train_mlp,
          trainAttn: input.train_attn,
          trainUnembed: input.train_unembed
        }))
        assert.deepStrictEqual(Option.getOrNull(found), "error" in output ? null : output.count)
      })
  )

  const schedules = {
    linear: LearningRate.linear({ peak: 1 }),
    cosine: LearningRate.cosine({ peak: 1 }),
    constant: LearningRate.constant(1)
  }
  const multipliers = cases(
    Schema.Struct({
      id: Schema.String,
      input: Schema.Struct({
        schedule: Schema.Literals(["linear", "cosine", "constant"]),
        step: Schema.Int,
        total_steps: Schema.Int
      }),
      output: Schema.Struct({ multiplier: Schema.Number })
    }),
    "lr_schedule"
  )
  it.each(multipliers)("a $input.schedule schedule at step $input.step of $input.total_steps", ({ input, output }) => {
    const found = schedules[input.schedule].at({ iteration: input.step, iterations: input.total_steps })
    assert.closeTo(found, output.multiplier, 1e-12)
  })

  const sums = cases(
    Schema.Struct({
      id: Schema.String,
      input: Schema.Struct({ values: Schema.Array(Schema.Number), discount: Schema.Number }),
      output: Schema.Struct({ sums: Schema.Array(Schema.Number) })
    }),
    "discounted_future_sum"
  )
  it.each(sums)("values discounted by $input.discount", ({ input: { discount, values }, output }) => {
    const datum = Samples.datum({ logprobs: values, advantages: values.map(() => 0) })
    const { advantages } = TokenAdvantages.add(datum, Float64Array.from(values), discount).inputs
    output.sums.forEach((sum, t) => assert.isTrue(TrainingVectors.isClose(advantages[t] ?? NaN, sum, 2e-6)))
  })
})
