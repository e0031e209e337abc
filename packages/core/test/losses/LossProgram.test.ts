import { LossExpression, type LossGraph, LossProgram, LossTerm } from "@effect-rl/core/losses"
import { assert, describe, it } from "@effect/vitest"
import { Array, Record, Result } from "effect"
import * as Samples from "./Samples.ts"

const { clamp, exp, gt, mul, sub, sum, where } = LossTerm

const compile = (expression: Pick<Samples.Expression, "graph">) =>
  Result.getOrThrow(LossProgram.compile(expression.graph))

const inputsOf = ({ example, expression, logprobs }: Samples.Sample): LossProgram.Inputs => ({
  ...LossExpression.values(expression)(example),
  logprobs: { data: logprobs, shape: [logprobs.length] }
})

const gradientOf = (program: LossProgram.Compiled, inputs: LossProgram.Inputs) => [
  ...Result.getOrThrow(LossProgram.evaluate(program, inputs)).gradient
]

describe("LossProgram of a loss expression", () => {
  for (const [index, expression] of Samples.expressions.entries()) {
    it(`reads no value of a token that its sums exclude: ${index}, ${expression.name}`, () => {
      const program = compile(expression)
      const sample = Samples.sample(expression, 7)
      const counted = LossExpression.counted(expression)(sample.example)
      const inputs = inputsOf(sample)
      const counting = program.inputs.flatMap(([name, register]) =>
        program.counting?.includes(register) === true ? [name] : []
      )
      const blind = Record.map(inputs, ({ data, shape }, name) => ({
        data: Array.fromIterable(Object.values(data)).map((value: number, t) =>
          shape.length === 0 || counted[t] === 1 || counting.includes(name) ? value : NaN
        ),
        shape
      }))
      assert.isNotEmpty(counting)
      assert.deepStrictEqual(LossProgram.evaluateAll(program, [blind]), LossProgram.evaluateAll(program, [inputs]))
    })
  }

  const plain = LossExpression.make("plain", {}, ({ advantages, logprobs }) => mul(logprobs, advantages))
  const given = (length: number, more: number = length) => ({
    logprobs: { data: new Float32Array(length).fill(-1), shape: [length] },
    advantages: { data: new Float32Array(more).fill(2), shape: [more] },
    mask: { data: new Float32Array(length).fill(1), shape: [length] }
  })

  it("sums over every token if a sum has no mask", () => {
    const all = LossExpression.make("all", {}, ({ advantages, logprobs }) => sum(logprobs, sub(advantages, 1)))
    const program = compile(all)
    assert.isUndefined(program.counting)
    const data = { ...given(2), mask: { data: [0, 1], shape: [2] }, advantages: { data: [0, 3], shape: [2] } }
    assert.deepStrictEqual(gradientOf(program, data), [-1, 2])
  })

  const refusals: ReadonlyArray<readonly [title: string, inputs: LossProgram.Inputs, message: string]> = [
    ["an input of another length", given(3, 2), "advantages: has 2 values, expected 3"],
    ["one number for all tokens", given(3, 1), "advantages: has 1 values, expected 3"],
    [
      "an input of another rank",
      { ...given(3), mask: { data: [1], shape: [] } },
      "mask: has rank 0, declared with rank 1"
    ],
    [
      "an input that the datum does not have",
      Record.remove(given(3), "advantages"),
      "advantages: the datum has no such input"
    ],
    [
      "log-probabilities of candidates",
      { ...given(2), logprobs: { data: [-1, -2], shape: [1, 2] } },
      "logprobs: is not a vector, expected one value per token"
    ]
  ]
  for (const [title, inputs, message] of refusals) {
    it(`refuses ${title}`, () => {
      const found = LossProgram.evaluateAll(compile(plain), [given(3), inputs])
      assert.strictEqual(Result.isFailure(found) ? found.failure.message : "", message)
    })
  }

  it("refuses a datum with too many tokens before computing anything", () => {
    const program = compile(plain)
    assert.isTrue(Result.isSuccess(LossProgram.check(program, given(100), 100)))
    const found = LossProgram.check(program, given(2 ** 24), 2 ** 24)
    assert.match(Result.isFailure(found) ? found.failure.message : "", /16777216 tokens take \d+ numbers to compute/)
  })

  it("gives a masked token a gradient of 0, not NaN, if its value is infinite", () => {
    const infinite = LossExpression.make(
      "infinite",
      {},
      ({ advantages, logprobs }) => mul(advantages, exp(mul(logprobs, logprobs, 1e4)))
    )
    const data = { ...given(2), mask: { data: [0, 1], shape: [2] }, logprobs: { data: [-1, 0], shape: [2] } }
    assert.deepStrictEqual(gradientOf(compile(infinite), data), [0, 0])
  })

  it("supports infinite bounds and conditions between constants", () => {
    const odd = LossExpression.make(
      "odd",
      { parameters: { low: -Infinity, one: 1 } },
      ({ advantages, logprobs }, { low, one }) =>
        where(gt(one, 0), sum(mul(clamp(logprobs, { low, high: -1 }), advantages)), sum(logprobs))
    )
    const data = { ...given(3), logprobs: { data: [-3, -1, 0], shape: [3] } }
    assert.deepStrictEqual(gradientOf(compile(odd), data), [2, 0, 0])
  })

  it("selects one of two numbers by a condition on the sequence", () => {
    const chosen = LossExpression.make(
      "chosen",
      {},
      ({ advantages, logprobs }) => mul(where(gt(sum(advantages), 0), 0.5, 2), sum(logprobs))
    )
    assert.deepStrictEqual(gradientOf(compile(chosen), given(2)), [0.5, 0.5])
  })
})

describe("graphs of other programs", () => {
  const node = (name: string, target: string, args: LossGraph.Node["args"]) =>
    ({ op: "call_function", name, target, args, kwargs: {} }) as const

  const graph = (...nodes: ReadonlyArray<LossGraph.Node>): LossGraph.LossGraph => ({
    name: "other",
    inputs: [{ name: "logprobs", rank: 1 }],
    graph: {
      format: 1,
      nodes: [{ op: "placeholder", name: "logprobs", target: "logprobs", args: [], kwargs: {} }, ...nodes]
    }
  })
  const output: LossGraph.Node = {
    op: "output",
    name: "output",
    target: "output",
    args: [{ tuple: [{ ref: "sum" }, { dict: {} }] }],
    kwargs: {}
  }
  const total = node("sum", "torch.sum", [{ ref: "x" }])

  const cases: ReadonlyArray<readonly [title: string, graph: LossGraph.LossGraph, message: string]> = [
    [
      "an operation that no expression has",
      graph(node("x", "torch.cumsum", [{ ref: "logprobs" }, 0]), total, output),
      "x: torch.cumsum is not computed here as it is used"
    ],
    [
      "an operation with further arguments",
      graph(node("x", "torch.exp", [{ ref: "logprobs" }, 1]), total, output),
      "x: torch.exp is not computed here as it is used"
    ],
    ["a name that is not defined", graph(total, output), "sum: torch.sum is not computed here as it is used"],
    ["no output", graph(), "graph: has no output"],
    [
      "a loss per token",
      graph(node("sum", "torch.exp", [{ ref: "logprobs" }]), output),
      "output: the loss of other is not one value of the datum"
    ]
  ]
  for (const [title, graph, message] of cases) {
    it(`are refused for ${title}`, () => {
      const found = LossProgram.compile(graph)
      assert.strictEqual(Result.isFailure(found) ? found.failure.message : "", message)
    })
  }
})
