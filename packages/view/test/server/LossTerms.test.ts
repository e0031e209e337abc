import { NamedLoss } from "@effect-rl/core/losses"
import * as LossTerms from "@effect-rl/view/server/LossTerms"
import { assert, describe, it } from "@effect/vitest"

/** Tokens sampled with probability 1/2 that the trainer finds less likely, equally likely, and more likely. */
const tokens = [-2, -Math.LN2, -0.1].flatMap((trainer) =>
  [1, 0, -1].map((advantage): LossTerms.Token => ({ sampler: -Math.LN2, trainer, advantage }))
)

const sum = (values: ReadonlyArray<number | null> | undefined) =>
  (values ?? []).reduce<number>((total, value) => total + (value ?? NaN), 0)

describe("the loss per token", () => {
  const perToken = NamedLoss.names.filter((name) => LossTerms.make(name, {}) !== undefined)

  it("exists for all named losses except those that combine tokens or need more than a datum", () => {
    assert.deepStrictEqual(perToken, [
      "importance_sampling",
      "ppo",
      "cispo",
      "dro",
      "dppo",
      "icepop",
      "sapo",
      "topr_token"
    ])
  })

  it.each(perToken)("of %s equals the loss of single-token datums", (name) => {
    const loss = LossTerms.make(name, {})
    const together = loss?.(tokens)
    const alone = tokens.map((token) => loss?.([token]))
    assert.deepStrictEqual(together?.values, alone.flatMap((one) => one?.values ?? []))
    assert.deepStrictEqual(together?.gradients, alone.flatMap((one) => one?.gradients ?? []))
    assert.isTrue(Number.isFinite(sum(together?.values)))
  })

  it("is clipped if the gradient is 0 and the advantage is not", () => {
    const ratio = { below: Math.log(0.5), above: Math.log(1.5) }
    const clipped = LossTerms.make("ppo", { clip_low_threshold: 0.8, clip_high_threshold: 1.2 })?.([
      { sampler: -1, trainer: -1 + ratio.above, advantage: 1 },
      { sampler: -1, trainer: -1 + ratio.above, advantage: -1 },
      { sampler: -1, trainer: -1 + ratio.below, advantage: -1 },
      { sampler: -1, trainer: -1, advantage: 0 }
    ])
    assert.deepStrictEqual(clipped?.clipped, [true, false, true, false])
  })

  it("is null if a log-probability is missing", () => {
    const terms = LossTerms.make("ppo", {})?.([
      { sampler: NaN, trainer: -1, advantage: 1 },
      { sampler: -1, trainer: -1, advantage: 1 }
    ])
    assert.deepStrictEqual(terms?.ratios, [null, 1])
    assert.deepStrictEqual(terms?.values, [null, -1])
  })
})
