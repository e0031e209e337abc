/** Numbers from tinker-cookbook 0.6.1 that measure how far an update moved the policy. */
import { Loss } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Objective } from "@effect-rl/core/losses"
import * as PostUpdate from "@effect-rl/core/rl/metrics/PostUpdate"
import * as StepMetrics from "@effect-rl/core/rl/metrics/StepMetrics"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Samples from "../../learn/Samples.ts"
import * as TrainingVectors from "../../model/TrainingVectors.ts"
import * as RecordedLines from "../../RecordedLines.ts"

const Numbers = Schema.Array(Schema.Number)

const { Example } = TrainingVectors

const Shift = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("kl_sample_train"),
  input: Schema.Struct({ datums: Schema.Array(Example), training_logprobs: Schema.Array(Numbers) }),
  output: Schema.Union([
    Schema.Struct({ metrics: Schema.Record(Schema.String, Schema.Number) }),
    Schema.Struct({ error: Schema.String })
  ])
})

const PostKl = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("post_kl"),
  input: Schema.Struct({
    datums: Schema.Array(Example),
    reference_logprobs: Schema.Array(Schema.Array(Schema.NullOr(Schema.Number)))
  }),
  output: Schema.Struct({
    metrics: Schema.Record(Schema.String, Schema.Number),
    queried_sequences: Schema.Array(Numbers)
  })
})

const lines = TrainingVectors.lines("metrics.jsonl")

const isKind = (kind: string) => Schema.is(Schema.Struct({ kind: Schema.Literal(kind) }))

const reasonOf = (line: unknown): string | undefined => {
  if (isKind("sampling_client")(line)) {
    return "the step and the time of each group's sampling client have no counterpart"
  }
  return isKind("rollout_usage")(line) ? "cached and uncached prompt tokens of rollouts have no counterpart" : undefined
}

const shifts = lines.filter(isKind("kl_sample_train")).map((line) => Schema.decodeUnknownSync(Shift)(line))
const ofCommit = TrainingVectors.cookbookRows("kl.jsonl").filter(({ kind }) => kind === "post_kl")
const postUpdates = [...lines.filter(isKind("post_kl")), ...ofCommit].map((line) =>
  Schema.decodeUnknownSync(PostKl)(line)
)

const datumOf = (example: typeof Example.Type) => {
  const datum = Samples.datum(example)
  const targetTokens = Int32Array.from(example.target_tokens)
  return {
    ...datum,
    modelInput: ModelInput.fromTokens(example.input_tokens),
    inputs: { ...datum.inputs, targetTokens }
  }
}

const same = (numbers: Readonly<Record<string, number>>, expected: Readonly<Record<string, number>>) => {
  for (const [name, value] of Object.entries(expected)) {
    const found = numbers[name] ?? NaN
    assert.isTrue(TrainingVectors.isClose(found, value, 2e-6), `${name} is ${found}, expected ${value}`)
  }
}

describe("an update's recorded numbers", () => {
  it("are compared, or left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(lines, reasonOf),
      RecordedLines.accountOf("core/training/metrics.jsonl.gz")
    )
    assert.lengthOf(lines, shifts.length + postUpdates.length - ofCommit.length + 10)
  })

  it.each(shifts)("match the distance of trainer and sampler ($id)", ({ input, output }) => {
    const data = input.datums.map(datumOf)
    const numbers = StepMetrics.learning(
      data,
      Samples.answers(data, input.training_logprobs.map((logprobs) => Float32Array.from(logprobs))),
      Objective.from(Loss.importanceSampling)
    )
    if ("metrics" in output) return same(numbers, output.metrics)
    assert.strictEqual(output.error, "no_action_tokens")
    assert.strictEqual(numbers["optim/action_tokens"], 0)
  })

  it.effect.each(postUpdates)(
    "match how far the update moved the policy ($id)",
    ({ input, output }) =>
      Effect.gen(function*() {
        const { asked, client } = Samples.scorer((_, place) => input.reference_logprobs[place] ?? [])
        const unused = Effect.die(new Error("nothing is trained"))
        const numbers = yield* PostUpdate.measure(input.datums.map(datumOf))({
          sampler: Effect.succeed({ client, step: 1 }),
          training: {
            forward: () => unused,
            saveWeightsForSampler: () => unused,
            info: { modelId: "m", baseModel: "m", loraRank: 1 }
          }
        })
        assert.deepStrictEqual(asked, output.queried_sequences)
        same(numbers, output.metrics)
      })
  )
})
