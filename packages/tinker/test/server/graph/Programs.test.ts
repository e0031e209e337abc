import { LossExpression, LossProgram, LossTerm } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/tinker/server/graph/Interpreter"
import { assert, describe, it } from "@effect/vitest"
import { Array, Result } from "effect"
import * as Samples from "../../../../core/test/losses/Samples.ts"

const {
  add,
  clamp,
  div,
  exp,
  gt,
  log,
  logSigmoid,
  maximum,
  mean,
  mul,
  sign,
  sqrt,
  square,
  stopGradient,
  sub,
  sum,
  where
} = LossTerm

/** An expression with the operations that no built-in loss uses. */
const everything: Samples.Expression = LossExpression.make(
  "everything",
  { extras: Samples.extras },
  ({ actionTokens, advantages, alpha, logprobs, samplerLogprobs }) => {
    const [d, spread] = [sub(logprobs, samplerLogprobs), sqrt(add(square(mean(logprobs)), 1))]
    const bounded = clamp(d, { low: sub(0.5, spread), high: spread })
    return div(
      add(
        sum(mul(sign(advantages), logSigmoid(d), maximum(alpha, d))),
        sum(where(gt(d, spread), bounded, log(add(exp(d), 1))), alpha),
        mul(stopGradient(spread), mean(square(bounded)))
      ),
      actionTokens
    )
  }
)

const inputsOf = ({ example, expression, logprobs }: Samples.Sample): LossProgram.Inputs => ({
  ...LossExpression.values(expression)(example),
  logprobs: { data: logprobs, shape: [logprobs.length] }
})

const closeTo = (found: number, expected: number, what: string) =>
  assert.isAtMost(Math.abs(found - expected), 1e-12 * Math.max(1, Math.abs(expected)), what)

describe("the program of a loss expression", () => {
  for (const [index, expression] of [...Samples.expressions, everything].entries()) {
    it(`computes the interpreter's losses and gradients for many data at once: ${index}, ${expression.name}`, () => {
      const program = Result.getOrThrow(LossProgram.compile(expression.graph))
      const compiled = Result.getOrThrow(Interpreter.compile(expression.graph))
      const batch = (count: number) => Array.makeBy(count, (seed) => inputsOf(Samples.sample(expression, seed)))
      for (const data of [batch(3), batch(20), batch(1)]) {
        Result.getOrThrow(LossProgram.evaluateAll(program, data)).forEach((found, datum) => {
          const expected = Result.getOrThrow(Interpreter.evaluate(compiled, data[datum] ?? {}))
          closeTo(found.loss, expected.loss, `loss ${datum}`)
          assert.strictEqual(found.gradient.length, expected.gradient.length)
          expected.gradient.forEach((slope, t) => closeTo(found.gradient[t] ?? NaN, slope, `slope ${datum}, ${t}`))
          assert.strictEqual(found.hasGradient, expected.hasGradient)
        })
      }
    })
  }
})
