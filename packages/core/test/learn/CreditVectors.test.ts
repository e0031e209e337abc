import { Advantage, Credit } from "@effect-rl/core"
import { Datum, ModelInput, Weights } from "@effect-rl/core/backend"
import type { TrainingData } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as RecordedLines from "../RecordedLines.ts"
import * as Samples from "./Samples.ts"

const Numbers = Schema.Array(Schema.Number)
const Logprobs = Schema.Array(Schema.Array(Schema.NullOr(Schema.Number)))

const { Example } = TrainingVectors
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

const SelfDistillation = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("self_distillation"),
  input: Schema.Struct({
    datums: Schema.Array(Example),
    group_indices: Schema.Array(Schema.Int),
    teacher_prompts: Schema.Array(Numbers),
    max_context_length: Schema.Int,
    teacher_logprobs: Logprobs
  }),
  output: Schema.Struct({
    advantages: Schema.Array(Numbers),
    metrics: Schema.Record(Schema.String, Schema.Number),
    queried: Schema.Array(Numbers)
  })
})

const lines = TrainingVectors.lines("distill.jsonl")

const isKind = (kind: string) => Schema.is(Schema.Struct({ kind: Schema.Literal(kind) }))

/** Kinds that are compared in other tests, or have no counterpart. */
const notHere: Readonly<Record<string, string>> = {
  reverse_kl_datums: "compared in learn/TopK.test.ts",
  reverse_kl_loss: "compared in learn/TopK.test.ts",
  off_policy_topk: "compared in learn/TopK.test.ts",
  domain_mix: "a mixture of domains by weights has no counterpart"
}

const reasonOf = (line: unknown): string | undefined =>
  Object.entries(notHere).find(([kind]) => isKind(kind)(line))?.[1]

const penalties = [
  ...TrainingVectors.lines("kl.jsonl"),
  ...TrainingVectors.cookbookRows("kl.jsonl").filter(({ kind }) => kind === "kl_penalty")
].map((line) => Schema.decodeUnknownSync(Penalty)(line))

const distillations = lines.filter(isKind("on_policy")).map((line) => Schema.decodeUnknownSync(Distillation)(line))

const selfDistillations = lines.filter(isKind("self_distillation")).map((line) =>
  Schema.decodeUnknownSync(SelfDistillation)(line)
)

describe("distillation recorded from tinker-cookbook", () => {
  it("is compared, or left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(lines, reasonOf),
      RecordedLines.accountOf("core/training/distill.jsonl.gz")
    )
    assert.lengthOf(lines, distillations.length + selfDistillations.length + 24)
  })
})

const toDatum = (example: Example, member: number): TrainingData.TrainingDatum => ({
  ...Datum.policyTokens(ModelInput.fromTokens(example.input_tokens), {
    targetTokens: Int32Array.from(example.target_tokens),
    logprobs: Float32Array.from(example.logprobs),
    advantages: Float32Array.from(example.advantages),
    mask: Float32Array.from(example.mask)
  }),
  origin: { iteration: 0, group: "g", member, turns: [0], segment: 0, samplerStep: 0 }
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

/** The episode from which the example's datum would be made, with one turn for each run of trained tokens. */
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

/** The examples' advantages before the teacher's were added, one per member. */
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

describe("Credit.klPenalty", () => {
  it.effect.each(penalties)(
    "agrees with tinker-cookbook wherever tokens are trained on ($id)",
    ({ input, output }) =>
      Effect.gen(function*() {
        const { asked, client } = Samples.scorer((_, place) => input.reference_logprobs[place] ?? [])
        const credit = Credit.klPenalty({
          reference: client,
          coefficient: input.kl_penalty_coef,
          discount: input.kl_discount_factor
        })(given(input.datums))
        const { groups, metrics } = yield* credit.assign([Samples.group([1, 0])], null, Weights.absent)
        assert.deepStrictEqual(asked, output.queried_sequences)
        assert.isTrue(TrainingVectors.isClose(metrics["kl_policy_base"] ?? NaN, output.kl_policy_base, 2e-6))
        assertClose(groups, output.advantages_if_masked_again ?? output.advantages, input.datums)
      })
  )
})

describe("Credit.distill", () => {
  it.effect.each(distillations)(
    "agrees with tinker-cookbook wherever tokens are trained on ($id)",
    ({ input, output }) =>
      Effect.gen(function*() {
        const isTrained = (index: number) => input.datums[index]?.mask.includes(1) === true
        const examples = input.datums.filter((_, index) => isTrained(index))
        const logprobs = input.teacher_logprobs.filter((_, index) => isTrained(index))
        const { client: teacher } = Samples.scorer((_, place) => logprobs[place] ?? [])
        const credit = Credit.distill({
          teacher,
          estimator: estimatorOf(examples),
          coefficient: input.kl_penalty_coef,
          discount: input.kl_discount_factor
        })
        const members = examples.map((example) => Option.some(episode(example)))
        const { groups, metrics } = yield* credit.assign(
          [Samples.group(members.map(() => 0), { members })],
          null,
          Weights.absent
        )
        assert.isTrue(TrainingVectors.isClose(metrics["teacher_kl"] ?? NaN, output.metrics["teacher_kl"] ?? NaN, 2e-6))
        assertClose(groups, output.advantages.filter((_, index) => isTrained(index)), examples)
      })
  )
})

/** A teacher that answers with the recorded log-probabilities of a sequence. */
const teacherOf = ({ input, output }: typeof SelfDistillation.Type) =>
  Samples.scorer((tokens) =>
    input.teacher_logprobs[output.queried.findIndex((sequence) => sequence.join() === tokens.join())] ?? []
  )

describe("Credit.distill with a separate teacher prompt", () => {
  it.effect.each(selfDistillations)(
    "matches tinker-cookbook's self-distillation up to the teacher's context ($id)",
    (vector) =>
      Effect.gen(function*() {
        const { input, output } = vector
        const { asked, client: teacher } = teacherOf(vector)
        const promptOf = (group: number) => input.teacher_prompts[group] ?? []
        const rows = input.datums.flatMap((example, index) => {
          const group = input.group_indices[index] ?? 0
          return example.mask.includes(1) ? [{ example, group, expected: output.advantages[index] ?? [] }] : []
        })
        const groups = input.teacher_prompts.map((_, group) => rows.filter((row) => row.group === group))
        const credit = Credit.distill({
          teacher,
          prompt: { name: "told", of: ({ key }) => Effect.succeed(ModelInput.fromTokens(promptOf(Number(key)))) },
          maxContextLength: input.max_context_length
        })
        const results = groups.flatMap((rows, group) => {
          const members = rows.map(({ example }) => Option.some(episode(example)))
          return rows.length === 0 ? [] : [Samples.group(rows.map(() => 0), { key: String(group), members })]
        })
        const assigned = yield* credit.assign(results, null, Weights.absent)
        const ordered = groups.flat()
        // If the teacher's prompt leaves no room for an answer, upstream leaves the datum's original advantages unchanged; here they
        // become 0.
        const fills = (group: number) => promptOf(group).length >= input.max_context_length
        const wanted = ({ example, expected, group }: typeof ordered[number]) =>
          fills(group) ? example.mask.map(() => 0) : expected
        assigned.groups.forEach((credited, index) => {
          const rows = groups.filter(({ length }) => length > 0)[index] ?? []
          // A group gives no data if the teacher has read none of it.
          if (credited.data.length === 0) {
            assert.isTrue(rows.every((row) => wanted(row).every((advantage) => advantage === 0)))
          } else assertClose([credited], rows.map(wanted), rows.map(({ example }) => example))
        })
        const isAnswer = (sequence: ReadonlyArray<number>) =>
          !input.teacher_prompts.some((prompt) => prompt.join() === sequence.join())
        assert.sameDeepMembers(asked, output.queried.filter(isAnswer))
        const truncated = (assigned.metrics["teacher_truncated"] ?? 0) * ordered.length
        assert.closeTo(truncated, output.metrics["sdft/teacher_truncated_count"] ?? NaN, 1e-9)
        if (truncated === 0 && ordered.length > 0) {
          assert.closeTo(assigned.metrics["teacher_kl"] ?? NaN, -(output.metrics["sdft/mean_advantage"] ?? NaN), 2e-6)
        }
      })
  )
})
