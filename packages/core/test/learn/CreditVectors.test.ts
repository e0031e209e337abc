import { Advantage, Credit, Datum, ModelInput, type SamplingClient, type TrainingData } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as Samples from "./Samples.ts"

const Numbers = Schema.Array(Schema.Number)
const Logprobs = Schema.Array(Schema.Array(Schema.NullOr(Schema.Number)))

const Example = Schema.Struct({
  input_tokens: Numbers,
  target_tokens: Numbers,
  logprobs: Numbers,
  advantages: Numbers,
  mask: Numbers
})
type Example = typeof Example.Type

const Penalty = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    datums: Schema.Array(Example),
    reference_logprobs: Logprobs,
    kl_penalty_coef: Schema.Number,
    kl_discount_factor: Schema.Number
  }),
  output: Schema.Struct({
    kl_policy_base: Schema.Number,
    advantages: Schema.Array(Numbers),
    advantages_if_masked_again: Schema.optional(Schema.Array(Numbers)),
    queried_sequences: Schema.Array(Numbers)
  })
})

const Distillation = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("on_policy"),
  input: Schema.Struct({
    datums: Schema.Array(Example),
    teacher_logprobs: Logprobs,
    kl_penalty_coef: Schema.Number,
    kl_discount_factor: Schema.Number
  }),
  output: Schema.Struct({ advantages: Schema.Array(Numbers), metrics: Schema.Record(Schema.String, Schema.Number) })
})

const decoded = <A>(file: string, schema: Schema.Codec<A>) =>
  (TrainingVectors.lines(file) ?? []).flatMap((line) => Schema.is(schema)(line) ? [line] : [])

const penalties = decoded("kl.jsonl", Penalty)
const distillations = decoded("distill.jsonl", Distillation)

/** Answers its requests in order, and remembers what it was asked. */
const scorer = (logprobs: typeof Logprobs.Type) => {
  const asked: Array<ReadonlyArray<number>> = []
  const client: SamplingClient.SamplingClient = {
    modelPath: "reference",
    sample: () => Effect.die(new Error("nothing is sampled from the reference")),
    computeLogprobs: (prompt) =>
      Effect.map(Effect.orDie(ModelInput.toTokens(prompt)), (tokens) => {
        asked.push(Array.from(tokens))
        return Float32Array.from(logprobs[asked.length - 1] ?? [], (logprob) => logprob ?? NaN)
      })
  }
  return { asked, client }
}

const toDatum = (example: Example, member: number): TrainingData.TrainingDatum => ({
  ...Datum.policyTokens(ModelInput.fromTokens(example.input_tokens), {
    targetTokens: Int32Array.from(example.target_tokens),
    logprobs: Float32Array.from(example.logprobs),
    advantages: Float32Array.from(example.advantages),
    mask: Float32Array.from(example.mask)
  }),
  lineage: { group: "g", groupIndex: 0, member, samplerStep: 0, firstTurn: 0, turns: 1 }
})

const given = (examples: ReadonlyArray<Example>): Credit.Credit => ({
  name: "given",
  config: {},
  assign: ([result = Samples.group([1])], memory) =>
    Effect.succeed({
      memory,
      groups: [{ result, verdict: "informative", advantagesG: new Float32Array(0), data: examples.map(toDatum) }],
      metrics: {}
    })
})

/** The episode whose datum the example is: one turn for each run of trained tokens. */
const episode = ({ input_tokens, logprobs, mask, target_tokens }: Example) => {
  const tokens = [...input_tokens.slice(0, 1), ...target_tokens]
  const starts = mask.flatMap((trained, t) => trained === 1 && mask[t - 1] !== 1 ? [t] : [])
  return Samples.trajectory(...starts.map((start) => {
    const length = [...mask.slice(start), 0].indexOf(0)
    return Samples.turn(
      tokens.slice(0, start + 1),
      tokens.slice(start + 1, start + 1 + length),
      logprobs.slice(start, start + length)
    )
  }))
}

/** The advantages that the examples had before the teacher's were added, one per member. */
const estimatorOf = (examples: ReadonlyArray<Example>) =>
  Advantage.make("given", () => Float32Array.from(examples, ({ advantages, mask }) => advantages[mask.indexOf(1)] ?? 0))

const assertClose = (
  groups: ReadonlyArray<Credit.GroupCredit>,
  expected: ReadonlyArray<ReadonlyArray<number>>,
  examples: ReadonlyArray<Example>
) => {
  const data = groups.flatMap(({ data }) => data)
  assert.strictEqual(data.length, expected.length)
  data.forEach(({ inputs: { advantages } }, index) => {
    expected[index]?.forEach((value, t) => {
      const wanted = examples[index]?.mask[t] === 0 ? 0 : value
      assert.isTrue(
        TrainingVectors.isClose(advantages[t] ?? 0, wanted, 2e-6),
        `${index}/${t}: ${advantages[t]} vs ${wanted}`
      )
    })
  })
}

describe.skipIf(penalties.length === 0)("Credit.klPenalty", () => {
  it.effect.each(penalties)(
    "agrees with tinker-cookbook wherever tokens are trained on ($id)",
    ({ input, output }) =>
      Effect.gen(function*() {
        const { asked, client } = scorer(input.reference_logprobs)
        const credit = Credit.klPenalty({
          reference: client,
          coefficient: input.kl_penalty_coef,
          discount: input.kl_discount_factor
        })(given(input.datums))
        const { groups, metrics } = yield* credit.assign([Samples.group([1, 0])], null)
        assert.deepStrictEqual(asked, output.queried_sequences)
        assert.isTrue(TrainingVectors.isClose(metrics["kl_policy_base"] ?? NaN, output.kl_policy_base, 2e-6))
        assertClose(groups, output.advantages_if_masked_again ?? output.advantages, input.datums)
      })
  )
})

describe.skipIf(distillations.length === 0)("Credit.distill", () => {
  it.effect.each(distillations)(
    "agrees with tinker-cookbook wherever tokens are trained on ($id)",
    ({ input, output }) =>
      Effect.gen(function*() {
        const isTrained = (index: number) => input.datums[index]?.mask.includes(1) === true
        const examples = input.datums.filter((_, index) => isTrained(index))
        const { client: teacher } = scorer(input.teacher_logprobs.filter((_, index) => isTrained(index)))
        const credit = Credit.distill({
          teacher,
          estimator: estimatorOf(examples),
          coefficient: input.kl_penalty_coef,
          discount: input.kl_discount_factor
        })
        const members = examples.map((example) => Option.some(episode(example)))
        const { groups, metrics } = yield* credit.assign([Samples.group(members.map(() => 0), { members })], null)
        assert.isTrue(TrainingVectors.isClose(metrics["teacher_kl"] ?? NaN, output.metrics["teacher_kl"] ?? NaN, 2e-6))
        assertClose(groups, output.advantages.filter((_, index) => isTrained(index)), examples)
      })
  )
})
