import { PolicyLoss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { LossExpression, LossTerm } from "@effect-rl/core/losses"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Samples from "./Samples.ts"

const { exp, mean, mul, named, neg, square, sub, sum } = LossTerm

const lossOf = (sample: Samples.Sample, logprobs: ReadonlyArray<number>) =>
  Result.getOrThrow(LossExpression.evaluate(sample.expression, sample.example, logprobs))

const nudged = (logprobs: ReadonlyArray<number>, at: number, step: number) =>
  logprobs.map((value, index) => index === at ? value + step : value)

describe("LossExpression gradients of every policy loss equal finite differences", () => {
  for (const sample of Samples.smooth) {
    it(`${sample.expression.name}, seed ${sample.seed}`, () => {
      const { gradient } = lossOf(sample, sample.logprobs)
      const step = 1e-6
      for (const at of sample.logprobs.keys()) {
        const [above, below] = [nudged(sample.logprobs, at, step), nudged(sample.logprobs, at, -step)]
        const slope = (lossOf(sample, above).loss - lossOf(sample, below).loss) / (2 * step)
        const found = gradient[at] ?? NaN
        assert.isBelow(Math.abs(found - slope), 1e-5 * Math.max(1, Math.abs(slope)), `[${at}] ${found}, ${slope}`)
      }
    })
  }
})

describe("LossExpression", () => {
  const inputs = {
    targetTokens: new Int32Array(4),
    logprobs: Float32Array.of(NaN, -1, -2, -1),
    advantages: Float32Array.of(0, 1, 1, -2),
    mask: Float32Array.of(0, 1, 1, 1)
  }
  const example = Datum.policyTokens(ModelInput.fromTokens([1, 2, 3, 4]), inputs)

  it("sums over the action tokens, and needs no log-probability elsewhere", () => {
    const { gradient, loss } = Result.getOrThrow(
      LossExpression.evaluate(PolicyLoss.importanceSampling, example, [-9, -1, -2, -1])
    )
    assert.strictEqual(loss, 0)
    assert.deepStrictEqual([...gradient], [0, -1, -1, 2])
  })

  it("averages over the action tokens", () => {
    const squared = LossExpression.make("squared", {}, ({ logprobs }) => square(mean(logprobs)))
    const { gradient, loss } = Result.getOrThrow(LossExpression.evaluate(squared, example, [-9, -1, -2, -3]))
    assert.strictEqual(loss, 4)
    gradient.forEach((slope, at) => assert.closeTo(slope, at === 0 ? 0 : -4 / 3, 1e-12))
  })

  it("takes 0 for the mean over weights that are all 0", () => {
    const weighted = LossExpression.make(
      "weighted",
      { extras: { weights: "token" } },
      ({ logprobs, weights }) => square(mean(logprobs, weights))
    )
    const at = (weights: ReadonlyArray<number>) =>
      Result.getOrThrow(
        LossExpression.evaluate(weighted, { ...example, extras: { weights: Float32Array.from(weights) } }, [
          -9,
          -1,
          -2,
          -3
        ])
      )
    const { gradient, loss } = at([0, 0, 0, 0])
    assert.strictEqual(loss, 0)
    assert.deepStrictEqual([...gradient].map(Math.abs), [0, 0, 0, 0])
    assert.strictEqual(at([0, 0.25, 0.25, 0]).loss, 2.25)
  })

  it("reads a datum's extra arrays", () => {
    const scaled = LossExpression.make(
      "scaled",
      { extras: { weights: "token", scale: "sequence" } },
      ({ logprobs, scale, weights }) => neg(mul(scale, sum(logprobs, weights)))
    )
    const extras = { weights: Float32Array.of(1, 0, 0.5, 0), scale: 2 }
    const { gradient, loss } = Result.getOrThrow(
      LossExpression.evaluate(scaled, { ...example, extras }, [-1, -2, -3, -4])
    )
    assert.strictEqual(loss, 5)
    assert.deepStrictEqual([...gradient].map((slope) => slope + 0), [-2, 0, -1, 0])
  })

  it("counts the positions of its mask or its weights, and all positions if a sum has computed weights", () => {
    const extras = { weights: "token" } as const
    const weighted = { ...example, extras: { weights: Float32Array.of(1, 0, 0, 0) } }
    const summed = LossExpression.make("summed", { extras }, ({ logprobs, weights }) => sum(logprobs, weights))
    const both = LossExpression.make(
      "both",
      { extras },
      ({ logprobs, weights }) => mul(logprobs, mean(logprobs, weights))
    )
    const computed = LossExpression.make("computed", { extras }, ({ logprobs, weights }) => sum(logprobs, neg(weights)))
    assert.deepStrictEqual(LossExpression.counted(PolicyLoss.ppo())(example), Uint8Array.of(0, 1, 1, 1))
    assert.deepStrictEqual(LossExpression.counted(summed)(weighted), Uint8Array.of(1, 0, 0, 0))
    assert.deepStrictEqual(LossExpression.counted(both)(weighted), Uint8Array.of(1, 1, 1, 1))
    assert.deepStrictEqual(LossExpression.counted(computed)(weighted), Uint8Array.of(1, 1, 1, 1))
  })

  it("is formatted as LaTeX that defines each symbol once", () => {
    const ratio = ({ logprobs, samplerLogprobs }: LossExpression.Inputs<{}>) =>
      named("\\rho_t", exp(sub(logprobs, samplerLogprobs)))
    const squared = LossExpression.make(
      "squared",
      { parameters: { beta: 0.1 }, symbols: { beta: "\\beta" } },
      (inputs, { beta }) => sub(mul(beta, square(ratio(inputs))), mul(ratio(inputs), inputs.advantages))
    )
    assert.strictEqual(
      LossExpression.formula(squared),
      "L = \\sum_{t} \\left[\\beta\\,\\rho_t^2 - \\rho_t\\,A_t\\right], \\quad \\rho_t = e^{\\ell_t - q_t}"
    )
    assert.strictEqual(
      LossExpression.formula(PolicyLoss.cispo()),
      "L = \\sum_{t} \\left[-\\operatorname{sg}\\left(\\operatorname{clip}\\left(\\rho_t, \\rho_-, \\rho_+\\right)\\right)\\,A_t\\,\\ell_t\\right]"
        + ", \\quad d_t = \\ell_t - q_t, \\quad \\rho_t = e^{d_t}"
    )
  })

  it("combines terms of every shape and plain numbers, also as bounds", () => {
    const { add, clamp, minimum } = LossTerm
    const mixed = LossExpression.make(
      "mixed",
      { parameters: { low: -2 } },
      ({ advantages, logprobs }, { low }) =>
        add(clamp(logprobs, { low, high: -1 }), minimum(logprobs, mean(advantages), 0, advantages), 1, sum(advantages))
    )
    assert.strictEqual(Result.getOrThrow(LossExpression.evaluate(mixed, example, [-9, -1, -2, -3])).loss, -8)
  })

  it("declares the inputs that it reads", () => {
    const names = ({ graph }: { readonly graph: LossExpression.LossExpression["graph"] }) =>
      graph.inputs.map(({ name, rank }) => `${name}:${rank}`)
    assert.deepStrictEqual(names(PolicyLoss.gspo()), [
      "logprobs:1",
      "sampler_logprobs:1",
      "advantages:1",
      "mask:1"
    ])
    assert.deepStrictEqual(names(PolicyLoss.withObservations()), [
      "logprobs:1",
      "sampler_logprobs:1",
      "advantages:1",
      "mask:1",
      "observation_mask:1",
      "action_tokens:0",
      "observation_tokens:0"
    ])
  })
})

it("PolicyLoss.withObservations divides each part by the token count of the whole batch", () => {
  const datum = (mask: ReadonlyArray<number>) =>
    Datum.policyTokens(ModelInput.fromTokens(mask.map(() => 1)), {
      targetTokens: new Int32Array(mask.length),
      logprobs: new Float32Array(mask.length).fill(-1),
      advantages: Float32Array.from(mask),
      mask: Float32Array.from(mask)
    })
  const data = PolicyLoss.countTokens([
    [datum([1, 1, 0]), Float32Array.of(0, 0, 1)],
    [datum([1, 0, 0]), Float32Array.of(0, 1, 1)]
  ])
  const expression = PolicyLoss.withObservations({ weight: 0.5 })
  const losses = data.map((example) =>
    Result.getOrThrow(LossExpression.evaluate(expression, example, [-1, -1, -1])).loss
  )
  assert.deepStrictEqual(losses, [-2 / 3 + 0.5 / 3, -1 / 3 + 1 / 3])
})
