import { LossValue } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"

/** Combinations of the log-probability, the sampler's log-probability and the advantage that cover every sign and clipping case. */
const points = [-3, -0.5, 0.7, 4].flatMap((advantage) =>
  [-2.5, -1.35, -1.05, -1, -0.9, -0.75, 0.6].map((logprob) => [logprob, -1, advantage] as const)
)

const formulas = {
  importance_sampling: (lp: number, q: number, a: number) => -Math.exp(lp - q) * a,
  ppo: (lp: number, q: number, a: number) => {
    const ratio = Math.exp(lp - q)
    const clipped = ratio < 0.8 ? 0.8 : ratio > 1.2 ? 1.2 : ratio
    return -Math.min(ratio * a, clipped * a)
  },
  dro: (lp: number, q: number, a: number) => -(lp * a - 0.05 / 2 * (lp - q) ** 2)
}

const one = (
  name: LossValue.PolicyLoss,
  config: LossValue.Config,
  [lp, q, a]: readonly [number, number, number]
) =>
  LossValue.policy(name, config, Float32Array.of(lp), { logprobs: Float32Array.of(q), advantages: Float32Array.of(a) })

const f32 = Math.fround

describe("LossValue", () => {
  for (const name of ["importance_sampling", "ppo", "dro"] as const) {
    it(`${name} matches its formula and the formula's derivative`, () => {
      for (const point of points) {
        const [lp, q, a] = [f32(point[0]), f32(point[1]), f32(point[2])]
        const formula = (x: number) => formulas[name](x, q, a)
        const { gradient, loss } = one(name, {}, point)
        assert.closeTo(loss, formula(lp), 1e-9, `${point}`)
        const step = 1e-5
        assert.closeTo(gradient[0] ?? NaN, (formula(lp + step) - formula(lp - step)) / (2 * step), 1e-5, `${point}`)
      }
    })
  }

  it("cispo weights the log-probability with a clipped ratio that has no gradient", () => {
    for (const point of points) {
      const [lp, q, a] = [f32(point[0]), f32(point[1]), f32(point[2])]
      for (
        const [low, high, config] of [[0, 4, {}], [0.8, 1.2, {
          clip_low_threshold: 0.8,
          clip_high_threshold: 1.2
        }]] as const
      ) {
        const weight = Math.min(Math.max(Math.exp(lp - q), low), high)
        const { gradient, loss } = one("cispo", config, point)
        assert.closeTo(loss, -weight * lp * a, 1e-6)
        assert.closeTo(gradient[0] ?? NaN, -weight * a, 1e-6)
      }
    }
  })

  it("ppo has no slope if clipping binds in the direction of the advantage", () => {
    const slope = (ratio: number, advantage: number) =>
      one("ppo", {}, [Math.log(ratio), 0, advantage]).gradient[0] ?? NaN
    assert.strictEqual(slope(1.5, 1), 0)
    assert.closeTo(slope(0.5, 1), -0.5, 1e-6)
    assert.strictEqual(slope(0.5, -1), 0)
    assert.closeTo(slope(1.5, -1), 1.5, 1e-6)
    const wide = one("ppo", { clip_low_threshold: 0.1, clip_high_threshold: 2 }, [Math.log(1.5), 0, 1])
    assert.closeTo(wide.gradient[0] ?? NaN, -1.5, 1e-6)
  })

  it("dro pulls towards the sampling distribution in proportion to beta", () => {
    assert.closeTo(one("dro", { beta: 0.5 }, [-1, -3, 1]).gradient[0] ?? NaN, -(1 - 0.5 * 2), 1e-6)
  })

  it("gspo gives every token the geometric mean of the sequence's counted ratios", () => {
    const logprobs = Float32Array.of(-1, -2, -7, -3)
    const sampled = {
      logprobs: Float32Array.of(-1.2, -2.1, 0, -2.7),
      advantages: Float32Array.of(1, -1, 0, 2),
      mask: Float32Array.of(1, 1, 0, 1)
    }
    const ratio = Math.exp(Math.fround(-1) - f32(-1.2) + (f32(-2) - f32(-2.1)) + (f32(-3) - f32(-2.7))) ** (1 / 3)
    const wide = { clip_low_threshold: 0.5, clip_high_threshold: 2 }
    const { gradient, loss } = LossValue.policy("gspo", wide, logprobs, sampled)
    assert.closeTo(loss, -ratio * (1 - 1 + 2), 1e-9)
    assert.deepStrictEqual([...gradient], [-ratio, ratio, 0, -2 * ratio].map((slope) => f32(slope) + 0))
  })

  it("gspo uses its paper's bounds by default, and has no slope if clipping binds", () => {
    const slope = (ratio: number, advantage: number) =>
      one("gspo", {}, [Math.log(ratio), 0, advantage]).gradient[0] ?? NaN
    assert.deepStrictEqual([slope(1.0005, 1), slope(0.9996, -1)], [0, 0])
    assert.closeTo(slope(1.0003, 1), -1.0003, 1e-6)
    assert.closeTo(slope(0.9998, -1), 0.9998, 1e-6)
  })

  it("sums over tokens and ignores masked values, even NaN", () => {
    const logprobs = Float32Array.of(-1, -2, -3)
    const sampled = {
      logprobs: Float32Array.of(-1.5, NaN, -2.5),
      advantages: Float32Array.of(1, 0, -2),
      mask: Float32Array.of(1, 0, 1)
    }
    for (const name of ["importance_sampling", "ppo", "cispo", "dro"] as const) {
      const all = LossValue.policy(name, {}, logprobs, sampled)
      const parts = [0, 2].map((t) =>
        one(name, {}, [logprobs[t] ?? 0, sampled.logprobs[t] ?? 0, sampled.advantages[t] ?? 0])
      )
      assert.closeTo(all.loss, parts.reduce((sum, part) => sum + part.loss, 0), 1e-12)
      assert.deepStrictEqual([...all.gradient], [parts[0]?.gradient[0], 0, parts[1]?.gradient[0]])
    }
  })

  it("ignores tokens with advantage 0, even with an infinite ratio, for all losses but dro", () => {
    for (const name of ["importance_sampling", "ppo", "cispo", "gspo"] as const) {
      const { gradient, loss } = one(name, {}, [-1, -1e30, 0])
      assert.deepStrictEqual([loss, gradient[0]], [0, 0])
    }
    assert.closeTo(one("dro", {}, [-1, -3, 0]).gradient[0] ?? NaN, 0.05 * 2, 1e-6)
  })

  it("cross entropy weights each target, including several targets per position", () => {
    const { gradient, loss } = LossValue.crossEntropy(Float32Array.of(-1, -2, -3, -4), {
      weights: Float32Array.of(1, 0.5, 0, -2)
    })
    assert.closeTo(loss, 1 + 1 - 8, 1e-12)
    assert.deepStrictEqual([...gradient], [-1, -0.5, 0, 2])
  })
})
