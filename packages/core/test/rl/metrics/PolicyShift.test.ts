import { Loss } from "@effect-rl/core"
import { Objective } from "@effect-rl/core/losses"
import type { TrainingData } from "@effect-rl/core/program"
import * as StepMetrics from "@effect-rl/core/rl/metrics/StepMetrics"
import { assert, describe, it } from "@effect/vitest"
import * as Samples from "../../learn/Samples.ts"

const unclipped = Objective.from(Loss.importanceSampling)

/** Tokens with the given probability ratios, trained to sampled. */
const withRatios = (ratios: ReadonlyArray<number>, advantages = ratios.map(() => 1), loss = Loss.importanceSampling) =>
  StepMetrics.learning(
    [Samples.datum({ logprobs: ratios.map(() => 0), advantages })],
    () => Float32Array.from(ratios, Math.log),
    Objective.from(loss)
  )

describe("StepMetrics.learning", () => {
  it("counts action tokens and all positions", () => {
    const data = [
      Samples.datum({ logprobs: [0, -1, -1], mask: [0, 1, 1] }),
      Samples.datum({ logprobs: [0, -1], mask: [0, 1] })
    ]
    const numbers = StepMetrics.learning(
      data,
      Samples.answers(data, data.map(({ inputs }) => inputs.logprobs)),
      unclipped
    )
    assert.strictEqual(numbers["optim/datums"], 2)
    assert.strictEqual(numbers["optim/action_tokens"], 3)
    assert.strictEqual(numbers["tokens/trained"], 5)
    assert.strictEqual(numbers["optim/effective_sample_size"], 1)
    assert.strictEqual(numbers["optim/ratio_mean"], 1)
  })

  it("counts datums that rewrite sampled tokens, and their members", () => {
    const part = (member: number, segment: number) => {
      const whole = Samples.datum({ logprobs: [-1, -1] })
      return { ...whole, origin: { ...whole.origin, member, turns: [segment], segment } }
    }
    const numbersOf = (...data: ReadonlyArray<TrainingData.TrainingDatum>) =>
      StepMetrics.learning(data, Samples.answers(data, data.map(({ inputs }) => inputs.logprobs)), unclipped)
    const branched = numbersOf(part(0, 0), part(0, 1), part(0, 3), part(1, 0), part(2, 0), part(3, 0))
    assert.strictEqual(branched["optim/branched_datums"], 2)
    assert.strictEqual(branched["optim/branched_members"], 1 / 4)
    assert.strictEqual(numbersOf(part(0, 0))["optim/branched_members"], 0)
    assert.notProperty(numbersOf(), "optim/branched_members")
  })

  it("computes the effective sample size of off-policy tokens", () => {
    const numbers = withRatios([1, 1, 2, 0.5])
    assert.closeTo(numbers["optim/ratio_mean"] ?? NaN, 4.5 / 4, 1e-6)
    assert.closeTo(numbers["optim/ratio_max"] ?? NaN, 2, 1e-6)
    assert.closeTo(numbers["optim/effective_sample_size"] ?? NaN, 4.5 ** 2 / (4 * 6.25), 1e-6)
  })

  it("reports clipping: PPO on the side that it cuts, CISPO on both sides, other losses never", () => {
    const ratios = [1.5, 1.5, 0.5, 0.5, 1]
    const advantages = [1, -1, 1, -1, 1]
    assert.strictEqual(withRatios(ratios, advantages, Loss.ppo())["optim/clipped_share"], 2 / 5)
    assert.strictEqual(
      withRatios(ratios, advantages, Loss.cispo({ clipLow: 0.8, clipHigh: 1.2 }))["optim/clipped_share"],
      4 / 5
    )
    assert.notProperty(withRatios(ratios, advantages), "optim/clipped_share")
  })

  it("does not count a token as clipped if its ratio equals a bound", () => {
    for (const loss of [Loss.ppo({ clipLow: 0.8, clipHigh: 1.25 }), Loss.cispo({ clipLow: 0.8, clipHigh: 1.25 })]) {
      const { isClipped } = Objective.from(loss)
      for (const advantage of [-1, 1]) {
        for (const bound of [0.8, 1.25]) assert.strictEqual(isClipped?.(bound, advantage), false)
      }
      assert.deepStrictEqual([isClipped?.(0.79, -1), isClipped?.(1.26, 1)], [true, true])
    }
  })

  it("does not count a token as clipped if its advantage is 0 or its side is not cut", () => {
    const clipped = (ratio: number, advantage: number) =>
      withRatios([ratio], [advantage], Loss.ppo())["optim/clipped_share"]
    assert.deepStrictEqual([clipped(0.5, 0), clipped(1.5, 0), clipped(0.5, 0.5), clipped(1.5, -0.5)], [0, 0, 0, 0])
    assert.deepStrictEqual([clipped(0.5, -0.5), clipped(1.5, 0.5)], [1, 1])
  })

  it("omits the sample size if a ratio's square overflows", () => {
    const numbers = withRatios([1e200, 1])
    assert.isUndefined(numbers["optim/effective_sample_size"])
    assert.closeTo(numbers["optim/effective_sample_size_sequences"] ?? NaN, 1, 1e-6)
  })

  it("omits tokens without a log-probability and reports their number", () => {
    const numbers = StepMetrics.learning(
      [Samples.datum({ logprobs: [-1, NaN, -1] })],
      () => Float32Array.of(-1, -1, NaN),
      unclipped
    )
    assert.strictEqual(numbers["optim/missing_logprobs"], 2)
    assert.strictEqual(numbers["optim/kl_sample_train_v1"], 0)
    assert.strictEqual(numbers["optim/entropy"], 1)
    assert.notProperty(withRatios([1]), "optim/missing_logprobs")
  })

  it("estimates divergence in three ways, and the effective sample size over whole sequences", () => {
    const numbers = withRatios([2, 0.5])
    const log2 = Math.log(2)
    assert.closeTo(numbers["optim/kl_sample_train_v1"] ?? NaN, 0, 1e-6)
    assert.closeTo(numbers["optim/kl_sample_train_v2"] ?? NaN, log2 ** 2 / 2, 1e-6)
    assert.closeTo(numbers["optim/kl_sample_train_k3"] ?? NaN, 0.25, 1e-6)
    const data = [Samples.datum({ logprobs: [0] }), Samples.datum({ logprobs: [0] })]
    const sequences = StepMetrics.learning(
      data,
      Samples.answers(data, [Float32Array.of(log2), Float32Array.of(0)]),
      unclipped
    )
    assert.closeTo(sequences["optim/effective_sample_size_sequences"] ?? NaN, 9 / 10, 1e-6)
  })

  it("separates depths at 1024, 4096, 16,384 and 65,536 tokens", () => {
    const edges = [0, 1024, 4096, 16_384, 65_536]
    const ratios = Array.from({ length: 65_537 }, (_, t) => edges.includes(t) ? 2 : 1)
    const numbers = withRatios(ratios)
    edges.forEach((edge, index) => {
      const tokens = (edges[index + 1] ?? ratios.length) - edge
      assert.closeTo((numbers[`optim/kl_v1_by_depth/${edge}`] ?? NaN) * tokens, -Math.log(2), 1e-6)
    })
  })

  it("groups ratios by range, and divergence by depth if there are several depths", () => {
    const numbers = withRatios([0.4, 1, 1, 3])
    assert.deepInclude(numbers, {
      "optim/ratio_share/0": 0.25,
      "optim/ratio_share/0.95": 0.5,
      "optim/ratio_share/2": 0.25
    })
    assert.notProperty(numbers, "optim/ratio_share/0.5")
    const oneInEach = withRatios([0.1, 0.6, 0.9, 1, 1.1, 1.5, 4])
    const edges = Object.keys(oneInEach).flatMap((name) => /^optim\/ratio_share\/(.*)$/.exec(name)?.[1] ?? [])
    assert.deepStrictEqual(edges, ["0", "0.5", "0.8", "0.95", "1.05", "1.25", "2"])
    assert.notProperty(numbers, "optim/kl_by_depth/0")
    const long = withRatios([...Array.from({ length: 1024 }, () => 1), 2])
    assert.strictEqual(long["optim/kl_by_depth/0"], 0)
    assert.closeTo(long["optim/kl_by_depth/1024"] ?? NaN, Math.log(2) ** 2 / 2, 1e-6)
    assert.closeTo(long["optim/kl_v1_by_depth/1024"] ?? NaN, -Math.log(2), 1e-6)
    assert.closeTo(long["optim/kl_k3_by_depth/1024"] ?? NaN, 1 - Math.log(2), 1e-6)
  })

  it("returns no NaN for extreme ratios", () => {
    const numbers = StepMetrics.learning(
      [Samples.datum({ logprobs: [-900, -1] })],
      () => Float32Array.of(0, -1),
      Objective.from(Loss.ppo())
    )
    assert.strictEqual(numbers["optim/ratio_max"], Infinity)
    for (const [name, value] of Object.entries(numbers)) assert.isFalse(Number.isNaN(value), name)
  })
})
