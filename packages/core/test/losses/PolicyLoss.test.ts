import { PolicyLoss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { LossExpression } from "@effect-rl/core/losses"
import * as DpoLoss from "@effect-rl/core/preference/DpoLoss"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as RecordedLines from "../RecordedLines.ts"
import * as PeerLosses from "./PeerLosses.ts"

const Numbers = Schema.Array(Schema.Number)

const Sequence = Schema.Struct({
  logprobs: Numbers,
  old_logprobs: Numbers,
  mask: Numbers,
  advantages: Schema.optionalKey(Numbers),
  rollout_logprobs: Schema.optionalKey(Numbers),
  ref_logprobs: Schema.optionalKey(Numbers),
  teacher_logprobs: Schema.optionalKey(Numbers),
  weights: Schema.optionalKey(Numbers),
  rl_weights: Schema.optionalKey(Numbers),
  ce_weights: Schema.optionalKey(Numbers),
  ref_kl_weights: Schema.optionalKey(Numbers),
  versions: Schema.optionalKey(Numbers),
  score: Schema.optionalKey(Schema.Number)
})
type Sequence = typeof Sequence.Type

const Row = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    peer: Schema.String,
    params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
    sequences: Schema.optionalKey(Schema.Array(Schema.Unknown))
  }),
  output: Schema.Unknown,
  flags: Schema.optionalKey(Schema.Array(Schema.String))
})

const Case = Schema.Struct({
  ...Row.fields,
  input: Schema.Struct({
    peer: Schema.String,
    params: Schema.Record(Schema.String, Schema.Unknown),
    sequences: Schema.Array(Sequence)
  }),
  output: Schema.Struct({
    loss: Schema.Number,
    grad: Schema.Array(Numbers),
    per_sequence: Schema.optionalKey(Numbers),
    upstream_loss: Schema.optionalKey(Schema.Number),
    upstream_reduction: Schema.optionalKey(Schema.NullOr(Schema.String))
  })
})
type Case = typeof Case.Type

const rows = TrainingVectors.lines("losses.jsonl").map((line) => Schema.decodeUnknownSync(Row)(line))

/** Kinds that are not a loss of one datum, and how this library handles them. */
const withoutLoss: Readonly<Record<string, string>> = {
  rollout_correction: "weights and masks of a batch without a loss: verl's variants have no counterpart",
  aggregation: "compared in rl/Aggregation.test.ts",
  preference_pair: "a loss of a pair: compared with DpoLoss below",
  kl_estimator: "a number per token without a loss",
  m2po: "a mask over the whole batch: losses across datums are the user's own"
}

const reasonOf = ({ kind }: typeof Row.Type): string | undefined => withoutLoss[kind]

const recorded = rows.filter((row) => reasonOf(row) === undefined).map((row) => Schema.decodeUnknownSync(Case)(row))

const threePolicies = new Set([
  "vespo_three_policies",
  "ppo_tis_mis",
  "ppo_tis_icepop",
  "ppo_off_policy_corrected",
  "ppo_decoupled_rejection"
])

/** The advantage (teacher − q), weighted by 1 + γ(1 − share of Σ|a| before the token). */
const teacherAdvantages = (
  { old_logprobs: sampler, teacher_logprobs: teacher = [], mask }: Sequence,
  gamma: number
) => {
  const gains = teacher.map((value, at) => mask[at] === 0 ? 0 : value - (sampler[at] ?? 0))
  const total = Math.max(gains.reduce((sum, gain) => sum + Math.abs(gain), 0), 1e-8)
  let before = 0
  return gains.map((gain) => {
    const weight = 1 + gamma * (1 - before / total)
    before += Math.abs(gain)
    return gain * weight
  })
}

const exampleOf = ({ input: { params }, kind }: Case, sequence: Sequence): PeerLosses.Example => {
  const { length } = sequence.logprobs
  const zeros = Array.from({ length }, () => 0)
  const sampler = threePolicies.has(kind) ? sequence.rollout_logprobs ?? zeros : sequence.old_logprobs
  const { advantages = zeros } = sequence
  const constant = params["token_advantages"] === false ? zeros.map(() => advantages[0] ?? 0) : advantages
  const version = typeof params["current_version"] === "number" ? params["current_version"] : 0
  const gamma = typeof params["gamma"] === "number" ? params["gamma"] : 0
  const vector = (values: ReadonlyArray<number> | undefined) => Float32Array.from(values ?? zeros)
  const inputs = {
    targetTokens: new Int32Array(length),
    logprobs: vector(sampler),
    advantages: kind === "iw_opd" ? vector(teacherAdvantages(sequence, gamma)) : vector(constant),
    mask: vector(sequence.mask)
  }
  return {
    ...Datum.policyTokens(ModelInput.fromTokens(new Int32Array(length)), inputs),
    extras: {
      proximalLogprobs: vector(sequence.old_logprobs),
      referenceLogprobs: vector(sequence.ref_logprobs),
      alpha: PolicyLoss.interpolation(sequence.versions ?? zeros, version),
      weights: vector(sequence.weights ?? sequence.mask),
      rlWeights: vector(sequence.rl_weights),
      ceWeights: vector(sequence.ce_weights),
      refKlWeights: vector(sequence.ref_kl_weights),
      score: sequence.score ?? 0
    }
  }
}

/** Losses with inputs that are computed here in float32, or whose parameters TRL keeps in float32. */
const inFloat32 = new Set(["ppo_decoupled_approximate", "iw_opd", "vespo_three_policies"])

const driftOf = ({ input: { sequences } }: Case) =>
  Math.max(
    0,
    ...sequences.flatMap(({ logprobs, old_logprobs: sampler }) =>
      logprobs.map((logprob, t) => Math.abs(logprob - (sampler[t] ?? 0)))
    )
  )

/** Whether every advantage has the sign of its episode's score. */
const isScoredBySign = ({ input: { sequences } }: Case) =>
  sequences.every(({ advantages = [], score = 0 }) => advantages.every((advantage) => advantage > 0 === score > 0))

const expressionOf = (row: Case) => {
  const { peer, params: parameters } = row.input
  return PeerLosses.expressionOf({
    kind: row.kind,
    peer,
    parameters,
    drift: driftOf(row),
    isScoredBySign: isScoredBySign(row)
  })
    ?? assert.fail(`${row.id}: ${row.kind} has no expression`)
}

const sumOf = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, number) => sum + number, 0)

const meanOf = (numbers: ReadonlyArray<number>) => sumOf(numbers) / numbers.length

/** The value that the project's function returns for the losses of all sequences, or the reason why it cannot be derived from them. */
const reduced = (
  { input: { sequences }, output: { upstream_reduction: reduction } }: Case,
  losses: ReadonlyArray<number>
) => {
  const counts = sequences.map(({ mask }) => sumOf(mask))
  const meansOver = (least: number) => losses.map((loss, index) => loss / ((counts[index] ?? 0) + least))
  switch (reduction) {
    case "token-sum":
      return sumOf(losses)
    case "token-mean":
      return sumOf(losses) / sumOf(counts)
    case "seq-mean-token-mean":
      return meanOf(meansOver(0))
    case "seq-mean-token-mean-1e-8":
      return meanOf(meansOver(1e-8))
    case "seq-mean":
      return meanOf(losses)
    default:
      return undefined
  }
}

describe("policy losses recorded from other projects", () => {
  it("are compared, or left out for a reason that VECTORS.md lists", () => {
    const counts = RecordedLines.counted(rows, reasonOf)
    assert.deepStrictEqual(counts, RecordedLines.accountOf("core/training/losses.jsonl.gz"))
  })

  it("equal losses of this library, except for the listed kinds", () => {
    const isWritten = (row: Case) =>
      PeerLosses.isOurs(expressionOf(row)) ? undefined : `${row.kind} of ${row.input.peer}`
    assert.deepStrictEqual(RecordedLines.counted(recorded, isWritten), {
      compared: 154,
      "cispo_masked of ROLL": 1,
      "cross_entropy of SkyRL": 3,
      "cross_entropy of prime-rl": 2,
      "dppo_kl of SkyRL": 1,
      "dppo_kl_tis of verl": 3,
      "dppo_tv of SkyRL": 1,
      "dppo_tv_kl of prime-rl": 6,
      "dppo_tv_tis of verl": 3,
      "gmpo of verl": 3,
      "gspo_mean_advantage of AReaL": 2,
      "ipo_trust_region of prime-rl": 5,
      "mixed_components of prime-rl": 4,
      "ppo_decoupled_approximate of AReaL": 2,
      "ppo_decoupled_rejection of AReaL": 11,
      "ppo_off_policy_corrected of SkyRL": 15,
      "ref_kl of prime-rl": 4,
      "sapo_sequence of AReaL": 3,
      "topr of ROLL": 4,
      "vespo_three_policies of TRL": 2
    })
  })

  it.each(recorded)("$id: $kind of $input.peer $input.params", (row) => {
    const expression = expressionOf(row)
    const isFloat32 = row.flags?.some((flag) => flag.includes("float32")) === true
    const tolerance = isFloat32 || inFloat32.has(row.kind) ? 2e-6 : 1e-9
    const evaluations = row.input.sequences.map((sequence) =>
      Result.getOrThrow(LossExpression.evaluate(expression, exampleOf(row, sequence), sequence.logprobs))
    )
    const losses = evaluations.map(({ loss }) => loss)
    const same = (found: number, expected: number, what: string) =>
      assert.isTrue(TrainingVectors.isClose(found, expected, tolerance), `${what} ${found}, expected ${expected}`)
    same(sumOf(losses), row.output.loss, "loss")
    row.output.per_sequence?.forEach((expected, index) => same(losses[index] ?? NaN, expected, `loss of ${index}`))
    row.output.grad.forEach((gradient, index) =>
      gradient.forEach((slope, t) => same(evaluations[index]?.gradient[t] ?? NaN, slope, `gradient [${index}][${t}]`))
    )
    const found = reduced(row, losses)
    if (found !== undefined) same(found, row.output.upstream_loss ?? NaN, "the project's own number")
  })
})

const Pair = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("preference_pair"),
  input: Schema.Struct({
    params: Schema.Struct({ beta: Schema.Number, loss_type: Schema.Literals(["sigmoid", "ipo"]) }),
    log_ratio_difference: Numbers
  }),
  output: Schema.Struct({ per_pair: Numbers, grad: Numbers })
})

const pairs = TrainingVectors.lines("losses.jsonl").filter((line) => Schema.is(Pair)(line))

const token = (): Datum.Datum<"WeightedTokens"> =>
  Datum.weightedTokens(ModelInput.fromTokens([0]), { targetTokens: Int32Array.of(1), weights: Float32Array.of(1) })

describe("other projects' recorded preference losses", () => {
  it("are compared for sigmoid and IPO", () => {
    const counts = RecordedLines.counted(pairs, ({ input: { params } }) => params.loss_type)
    assert.deepStrictEqual(counts, { sigmoid: 1, ipo: 2 })
  })

  it.each(pairs)("$id", ({ input, output }) => {
    output.per_pair.forEach((expected, pair) => {
      const logprobs = [Float32Array.of(input.log_ratio_difference[pair] ?? NaN), Float32Array.of(0)]
      const reference = [Float32Array.of(0), Float32Array.of(0)]
      const { gradients, loss } = DpoLoss.compute([token(), token()], logprobs, {
        loss: input.params.loss_type,
        beta: input.params.beta,
        referenceDT: reference
      })
      assert.isTrue(TrainingVectors.isClose(loss, expected, 2e-6))
      assert.isTrue(TrainingVectors.isClose(gradients[0]?.[0] ?? NaN, output.grad[pair] ?? NaN, 2e-6))
      assert.isTrue(TrainingVectors.isClose(gradients[1]?.[0] ?? NaN, -(output.grad[pair] ?? NaN), 2e-6))
    })
  })
})

describe("TOPR", () => {
  const tokens = Schema.Array(Schema.Tuple([
    Schema.Finite.check(Schema.isBetween({ minimum: -2, maximum: 0 })),
    Schema.Finite.check(Schema.isBetween({ minimum: -2, maximum: 0 })),
    Schema.Literals([0, 1])
  ])).check(Schema.isMinLength(1), Schema.isMaxLength(8))
  const advantage = Schema.Literals([-1.5, 0.5])

  /** The paper's formula: each token's gradient is the advantage times the weight of its sequence or token. */
  const gradients = (
    drawn: ReadonlyArray<readonly [logprob: number, sampler: number, mask: 0 | 1]>,
    advantage: number,
    level: "sequence" | "token"
  ) => {
    const ratios = drawn.map(([logprob, sampler]) => Math.exp(logprob - Math.fround(sampler)))
    const whole = ratios.reduce((product, ratio, at) => drawn[at]?.[2] === 1 ? product * ratio : product, 1)
    return drawn.map(([, , mask], at) => {
      const ratio = level === "sequence" ? whole : ratios[at] ?? NaN
      return mask === 0 ? 0 : -advantage * (advantage > 0 ? 1 : Math.min(1, ratio))
    })
  }

  it.prop("weights bad answers by the ratio of the sequence, or per token as topr_token", [tokens, advantage], ([
    drawn,
    advantage
  ]) => {
    const length = drawn.length
    const example = {
      ...Datum.policyTokens(ModelInput.fromTokens(new Int32Array(length)), {
        targetTokens: new Int32Array(length),
        logprobs: Float32Array.from(drawn, ([, sampler]) => sampler),
        advantages: new Float32Array(length).fill(advantage),
        mask: Float32Array.from(drawn, ([, , mask]) => mask)
      }),
      extras: {}
    }
    const logprobs = drawn.map(([logprob]) => logprob)
    for (const [level, expression] of [["sequence", PolicyLoss.topr], ["token", PolicyLoss.toprToken]] as const) {
      const { gradient } = Result.getOrThrow(LossExpression.evaluate(expression, example, logprobs))
      gradients(drawn, advantage, level).forEach((slope, at) => assert.closeTo(gradient[at] ?? NaN, slope, 1e-9))
    }
  })

  it("matches its paper's formula", () => {
    assert.include(LossExpression.formula(PolicyLoss.topr), "\\sum")
  })
})
