import { Datum, LossExpression, ModelInput, PolicyLoss } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as PeerLosses from "./PeerLosses.ts"
import * as TrainingVectors from "./TrainingVectors.ts"

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

const Case = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    peer: Schema.String,
    params: Schema.Record(Schema.String, Schema.Unknown),
    sequences: Schema.Array(Sequence)
  }),
  output: Schema.Struct({ loss: Schema.Number, grad: Schema.Array(Numbers) }),
  flags: Schema.optionalKey(Schema.Array(Schema.String))
})
type Case = typeof Case.Type

const recorded = TrainingVectors.lines("losses.jsonl")?.filter((row) => Schema.is(Case)(row)) ?? []

const threePolicies = new Set([
  "vespo_three_policies",
  "ppo_tis_mis",
  "ppo_tis_icepop",
  "ppo_off_policy_corrected",
  "ppo_decoupled_rejection"
])

/** (teacher − q) weighted by 1 + γ(1 − share of Σ|a| before the token). */
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
    advantages: vector(constant),
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
      advantageOfTeacher: vector(teacherAdvantages(sequence, gamma)),
      score: sequence.score ?? 0
    }
  }
}

/** Inputs computed here are float32, and TRL keeps its parameters in it. */
const inFloat32 = new Set(["ppo_decoupled_approximate", "iw_opd", "vespo_three_policies"])

/** Losses over the whole batch are no expressions. */
const acrossDatums = new Set(["m2po"])

describe("losses recorded from other projects", () => {
  for (const row of recorded) {
    if (acrossDatums.has(row.kind)) continue
    it(`${row.id}: ${row.kind} of ${row.input.peer} ${JSON.stringify(row.input.params)}`, () => {
      const expression = PeerLosses.expressionOf(row.kind, row.input.peer, row.input.params)
      assert.isDefined(expression)
      if (expression === undefined) return
      const isFloat32 = row.flags?.some((flag) => flag.includes("float32")) === true
      const tolerance = isFloat32 || inFloat32.has(row.kind) ? 2e-6 : 1e-9
      const evaluations = row.input.sequences.map((sequence) =>
        Result.getOrThrow(LossExpression.evaluate(expression, exampleOf(row, sequence), sequence.logprobs))
      )
      const loss = evaluations.reduce((sum, evaluation) => sum + evaluation.loss, 0)
      assert.isTrue(
        TrainingVectors.isClose(loss, row.output.loss, tolerance),
        `loss ${loss}, expected ${row.output.loss}`
      )
      row.output.grad.forEach((gradient, index) =>
        gradient.forEach((slope, at) => {
          const found = evaluations[index]?.gradient[at] ?? NaN
          assert.isTrue(
            TrainingVectors.isClose(found, slope, tolerance),
            `gradient [${index}][${at}] ${found}, ${slope}`
          )
        })
      )
    })
  }

  it.skipIf(recorded.length === 0)("are all there", () => {
    assert.isAbove(recorded.length, 200)
  })
})
