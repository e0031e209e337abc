import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as DpoLoss from "@effect-rl/core/preference/DpoLoss"
import { PairLoss } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const datum = Datum.weightedTokens(ModelInput.fromTokens([0]), {
  targetTokens: Int32Array.of(1),
  weights: Float32Array.of(1)
})

const pair = [Float32Array.of(-1), Float32Array.of(-3)]
const reference = [Float32Array.of(-2), Float32Array.of(-2)]

const refusal =
  "data is 3 datums, expected an even number: each pair's chosen response and, next to it, the rejected one"

describe("the DPO loss", () => {
  it.effect("is the logistic loss of the pair's margin", () =>
    Effect.gen(function*() {
      const { gradients, loss } = yield* DpoLoss.make({ referenceDT: reference, beta: 0.5 })([datum, datum], pair)
      assert.closeTo(loss, Math.log1p(Math.exp(-1)), 1e-15)
      const slope = 0.5 / (1 + Math.E)
      gradients.forEach((gradient, d) => assert.closeTo(gradient[0] ?? NaN, d === 0 ? -slope : slope, 1e-7))
    }))

  it.effect("is refused for an odd number of datums", () =>
    Effect.gen(function*() {
      const [logprobs, others] = [[...pair, Float32Array.of(-1)], [...reference, Float32Array.of(-1)]]
      const data = [datum, datum, datum] as const
      const error = yield* Effect.flip(DpoLoss.make({ referenceDT: others, beta: 0.5 })(data, logprobs))
      assert.strictEqual(error.message, refusal)
      assert.throws(() => DpoLoss.compute(data, logprobs, { referenceDT: others, beta: 0.5 }), RangeError, refusal)
    }))
})

const Logprob = Schema.Finite.check(Schema.isBetween({ minimum: -4, maximum: -0.01 }))

/** The log-probabilities of one to four tokens under policy and reference, after a prompt of one token or none. */
const Sequence = Schema.Struct({
  tokens: Schema.Array(Schema.Tuple([Logprob, Logprob])).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
  hasPrompt: Schema.Boolean
})

const Batch = Schema.Array(Schema.Tuple([Sequence, Sequence])).check(Schema.isMinLength(1), Schema.isMaxLength(3))

interface Read {
  readonly datum: Datum.Datum<"WeightedTokens">
  readonly logprobs: Float32Array
  readonly reference: Float32Array
}

const read = ({ hasPrompt, tokens }: typeof Sequence.Type): Read => {
  const all = hasPrompt ? [[-1, -1] as const, ...tokens] : tokens
  return {
    datum: Datum.weightedTokens(ModelInput.fromTokens(all.map(() => 0)), {
      targetTokens: new Int32Array(all.length),
      weights: Float32Array.from(all, (_, t) => hasPrompt && t === 0 ? 0 : 1)
    }),
    logprobs: Float32Array.from(all, ([own]) => own),
    reference: Float32Array.from(all, ([, other]) => other)
  }
}

/** Whether the loss is differentiable for these scores. KTO treats batch means as constants, so it needs negative means. */
const isSmooth = (name: PairLoss.Name, scores: ReadonlyArray<number>) =>
  name !== "kto_pair" || scores.every((score) => score < -0.01)

describe.each(PairLoss.names)("the loss %s", (name) => {
  const lossOf = (sequences: ReadonlyArray<Read>) =>
    DpoLoss.compute(sequences.map(({ datum }) => datum), sequences.map(({ logprobs }) => logprobs), {
      loss: name,
      referenceDT: sequences.map(({ reference }) => reference)
    })

  it.prop("has the gradient of finite differences, and none outside the answer", [Batch], ([pairs]) => {
    const sequences = pairs.flat().map(read)
    const scores = DpoLoss.sequences(
      sequences.map(({ datum }) => datum),
      sequences.map(({ logprobs, reference }) => logprobs.map((value, t) => value - (reference[t] ?? 0)))
    )
    if (!isSmooth(name, scores)) return
    const { gradients } = lossOf(sequences)
    const moved = (d: number, t: number, by: number) =>
      lossOf(
        sequences.map((one, index) =>
          index === d ? { ...one, logprobs: one.logprobs.with(t, (one.logprobs[t] ?? NaN) + by) } : one
        )
      ).loss
    for (const [d, { datum: { inputs }, logprobs }] of sequences.entries()) {
      for (const t of logprobs.keys()) {
        const slope = gradients[d]?.[t] ?? NaN
        if (inputs.weights[t] === 0) assert.strictEqual(slope, 0)
        const difference = (moved(d, t, 2 ** -10) - moved(d, t, -(2 ** -10))) / 2 ** -9
        assert.closeTo(slope, difference, 0.02 * Math.max(0.1, Math.abs(difference)), `${d}, ${t}`)
      }
    }
  })

  it.prop("decreases if the chosen answer becomes more likely, except for IPO", [Sequence, Sequence], (pair) => {
    const [won, lost] = [read(pair[0]), read(pair[1])]
    const [before, after] = [won, { ...won, logprobs: won.logprobs.map((value) => value + 2 ** -8) }].map((one) =>
      lossOf([one, lost]).loss
    )
    // IPO's loss is minimal at its target margin, so a step beyond the margin need not decrease the loss.
    if (name !== "ipo") assert.isBelow(after ?? NaN, before ?? NaN)
  })
})

describe("PairLoss", () => {
  const tokens = (...logprobs: ReadonlyArray<number>) => ({
    datum: Datum.weightedTokens(ModelInput.fromTokens(logprobs.map(() => 0)), {
      targetTokens: new Int32Array(logprobs.length),
      weights: Float32Array.from(logprobs, () => 1)
    }),
    logprobs: Float32Array.from(logprobs)
  })

  const lossOf = (
    loss: PairLoss.Name,
    [won, lost]: readonly [ReturnType<typeof tokens>, ReturnType<typeof tokens>],
    parameters: Partial<PairLoss.Parameters>,
    references: ReadonlyArray<number> = []
  ) =>
    DpoLoss.compute([won.datum, lost.datum], [won.logprobs, lost.logprobs], {
      loss,
      ...parameters,
      referenceDT: references.map((value) => Float32Array.of(value))
    }).loss

  it("IPO has its minimum at a mean margin of 1/2β", () => {
    assert.strictEqual(lossOf("ipo", [tokens(-1), tokens(-2)], { beta: 0.5 }, [-1, -1]), 0)
    assert.strictEqual(lossOf("ipo", [tokens(-1), tokens(-1)], { beta: 0.5 }, [-1, -1]), 1)
  })

  it("KTO on pairs starts at 1/2, when both answers are as likely as before", () => {
    assert.strictEqual(lossOf("kto_pair", [tokens(-1), tokens(-2)], {}, [-1, -2]), 0.5)
  })

  it("ORPO is the chosen answer's negative log-likelihood plus β times the odds-ratio loss", () => {
    const found = lossOf("orpo", [tokens(-1, -3), tokens(-2)], { beta: 0.5 })
    assert.closeTo(found, 2 + 0.5 * Math.LN2, 1e-12)
  })

  it("SimPO compares means over tokens, minus γ", () => {
    const found = lossOf("simpo", [tokens(-1, -3), tokens(-2)], { beta: 4, gamma: 1 })
    assert.closeTo(found, Math.log1p(Math.E), 1e-12)
  })
})
