import { LossExpression, type LossGraph, LossTerm } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/core/losses/graph/Interpreter"
import { assert, describe, it } from "@effect/vitest"
import { Array, Record, Result } from "effect"
import * as Samples from "../Samples.ts"

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

/** An expression that uses what the losses of the library leave out. */
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

const compile = (expression: Samples.Expression) => Result.getOrThrow(Interpreter.compile(expression.graph))

const inputsOf = ({ example, expression, logprobs }: Samples.Sample): Readonly<Record<string, Interpreter.Values>> => ({
  ...LossExpression.values(expression)(example),
  logprobs: { data: logprobs, shape: [logprobs.length] }
})

const closeTo = (found: number, expected: number, what: string) =>
  assert.isAtMost(Math.abs(found - expected), 1e-12 * Math.max(1, Math.abs(expected)), what)

describe("a graph of numbers per token or per datum", () => {
  for (const [index, expression] of [...Samples.expressions, everything].entries()) {
    it(`has the losses and slopes of the interpreter for many data at once: ${index}, ${expression.name}`, () => {
      const compiled = compile(expression)
      assert.isDefined(compiled.program)
      const batch = (count: number) => Array.makeBy(count, (seed) => inputsOf(Samples.sample(expression, seed)))
      for (const data of [batch(3), batch(20), batch(1)]) {
        Interpreter.evaluateAll(compiled, data).forEach((result, datum) => {
          const found = Result.getOrThrow(result)
          const expected = Result.getOrThrow(Interpreter.evaluate(compiled, data[datum] ?? {}))
          closeTo(found.loss, expected.loss, `loss ${datum}`)
          assert.strictEqual(found.gradient.length, expected.gradient.length)
          expected.gradient.forEach((slope, t) => closeTo(found.gradient[t] ?? NaN, slope, `slope ${datum}, ${t}`))
          assert.strictEqual(found.hasGradient, expected.hasGradient)
        })
      }
    })
  }

  for (const [index, expression] of Samples.expressions.entries()) {
    it(`reads no number of a token that its sums leave out: ${index}, ${expression.name}`, () => {
      const compiled = compile(expression)
      const sample = Samples.sample(expression, 7)
      const counted = LossExpression.counted(expression)(sample.example)
      const inputs = inputsOf(sample)
      const counting = compiled.program?.inputs.flatMap(([name, register]) =>
        compiled.program?.counting?.includes(register) === true ? [name] : []
      )
      const blind = Record.map(inputs, ({ data, shape }, name) => ({
        data: Array.fromIterable(Object.values(data)).map((value: number, t) =>
          shape.length === 0 || counted[t] === 1 || counting?.includes(name) === true ? value : NaN
        ),
        shape
      }))
      assert.isNotEmpty(counting)
      assert.deepStrictEqual(Interpreter.evaluateAll(compiled, [blind]), Interpreter.evaluateAll(compiled, [inputs]))
    })
  }

  const expression = LossExpression.make("plain", {}, ({ advantages, logprobs }) => mul(logprobs, advantages))
  const compiled = Result.getOrThrow(Interpreter.compile(expression.graph))
  const given = (length: number, more: number = length) => ({
    logprobs: { data: new Float32Array(length).fill(-1), shape: [length] },
    advantages: { data: new Float32Array(more).fill(2), shape: [more] },
    mask: { data: new Float32Array(length).fill(1), shape: [length] }
  })

  it("adds up every token where a sum has no mask", () => {
    const all = LossExpression.make("all", {}, ({ advantages, logprobs }) => sum(logprobs, sub(advantages, 1)))
    const graph = Result.getOrThrow(Interpreter.compile(all.graph))
    const data = { ...given(2), mask: { data: [0, 1], shape: [2] }, advantages: { data: [0, 3], shape: [2] } }
    assert.isUndefined(graph.program?.counting)
    const [result] = Interpreter.evaluateAll(graph, [data])
    assert.deepStrictEqual([...(result === undefined ? [] : Result.getOrThrow(result).gradient)], [-1, 2])
  })

  it("is interpreted where a datum has one number for all of its tokens, or inputs of other lengths", () => {
    const [whole, single, wrong] = Interpreter.evaluateAll(compiled, [given(3), given(3, 1), given(3, 2)])
    for (const result of [whole, single]) {
      assert.deepStrictEqual([...(result === undefined ? [] : Result.getOrThrow(result).gradient)], [2, 2, 2])
    }
    assert.match(wrong !== undefined && Result.isFailure(wrong) ? wrong.failure.message : "", /do not go together/)
  })

  it("says what a datum takes, and refuses one that does not fit, without its log-probabilities", () => {
    const { cost, hasGradient } = Result.getOrThrow(Interpreter.dryRun(compiled, given(100), 100))
    assert.isAbove(cost, 200)
    assert.isTrue(hasGradient)
    assert.isTrue(Result.isFailure(Interpreter.dryRun(compiled, given(3, 2), 3)))
    const { mask, ...others } = given(3)
    assert.isTrue(Result.isFailure(Interpreter.dryRun(compiled, others, 3)))
    assert.strictEqual(mask.shape[0], 3)
  })

  it("keeps a slope of 0 where a value beside it is infinite", () => {
    const infinite = LossExpression.make(
      "infinite",
      {},
      ({ advantages, logprobs }) => mul(advantages, exp(mul(logprobs, logprobs, 1e4)))
    )
    const graph = Result.getOrThrow(Interpreter.compile(infinite.graph))
    const data = { ...given(2), mask: { data: [0, 1], shape: [2] }, logprobs: { data: [-1, 0], shape: [2] } }
    const [result] = Interpreter.evaluateAll(graph, [data])
    assert.deepStrictEqual([...(result === undefined ? [] : Result.getOrThrow(result).gradient)], [0, 0])
  })
})

describe("other graphs", () => {
  const node = (name: string, target: string, args: LossGraph.Node["args"]) =>
    ({ op: "call_function", name, target, args, kwargs: {} }) as const

  it("are interpreted for many data too", () => {
    const compiled = Result.getOrThrow(Interpreter.compile({
      name: "sorted",
      inputs: [{ name: "logprobs", rank: 1 }],
      graph: {
        format: 1,
        nodes: [
          { op: "placeholder", name: "logprobs", target: "logprobs", args: [], kwargs: {} },
          node("cumsum", "torch.cumsum", [{ ref: "logprobs" }, 0]),
          node("sum", "torch.sum", [{ ref: "cumsum" }]),
          {
            op: "output",
            name: "output",
            target: "output",
            args: [{ tuple: [{ ref: "sum" }, { dict: {} }] }],
            kwargs: {}
          }
        ]
      }
    }))
    assert.isUndefined(compiled.program)
    const data = [[-1, -2], [-3]].map((values) => ({ logprobs: { data: values, shape: [values.length] } }))
    const gradients = Interpreter.evaluateAll(compiled, data).map((result) => [...Result.getOrThrow(result).gradient])
    assert.deepStrictEqual(gradients, [[2, 1], [1]])
  })
})
