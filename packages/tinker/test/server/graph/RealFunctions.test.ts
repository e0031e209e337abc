import type { LossGraph } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/tinker/server/graph/Interpreter"
import * as RealFunctions from "@effect-rl/tinker/server/graph/RealFunctions"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

/** A loss that sums a function of the inputs. */
const sumOf = (target: string, args: ReadonlyArray<"logprobs" | "bound">): LossGraph.LossGraph => ({
  name: "loss",
  inputs: [{ name: "logprobs", rank: 1 }, { name: "bound", rank: 1 }],
  graph: {
    format: 1,
    nodes: [
      { op: "placeholder", name: "logprobs", target: "logprobs", args: [], kwargs: {} },
      { op: "placeholder", name: "bound", target: "bound", args: [], kwargs: {} },
      { op: "call_function", name: "f", target, args: args.map((ref) => ({ ref })), kwargs: {} },
      { op: "call_method", name: "total", target: "sum", args: [{ ref: "f" }], kwargs: {} },
      {
        op: "output",
        name: "output",
        target: "output",
        args: [{ tuple: [{ ref: "total" }, { dict: {} }] }],
        kwargs: {}
      }
    ]
  }
})

const evaluate = (graph: LossGraph.LossGraph, x: ReadonlyArray<number>) => {
  const inputs = { logprobs: { data: x, shape: [x.length] }, bound: { data: [0.6, 0.2], shape: [2] } }
  return Result.getOrThrow(Interpreter.evaluate(Result.getOrThrow(Interpreter.compile(graph)), inputs))
}

/** Values within the domain of every function. */
const x = [0.3, 0.7]
const step = 1e-5

const assertSlopes = (graph: LossGraph.LossGraph) => {
  const { gradient } = evaluate(graph, x)
  x.forEach((_, at) => {
    const moved = (by: number) => evaluate(graph, x.map((value, t) => t === at ? value + by : value)).loss
    assert.closeTo(gradient[at] ?? NaN, (moved(step) - moved(-step)) / (2 * step), 1e-6, `slope ${at}`)
  })
}

const ofTwo = ["atan2", "logaddexp", "xlogy"]

describe("the gradient of a real function equals the slope of its values:", () => {
  it.each(Object.keys(RealFunctions.shared).filter((name) => !ofTwo.includes(name)))("%s", (name) => {
    assertSlopes(sumOf(`torch.${name}`, ["logprobs"]))
  })

  it.each(Object.keys(RealFunctions.functions))("%s", (name) => assertSlopes(sumOf(name, ["logprobs"])))

  it.each(ofTwo)("%s, by each of its arguments", (name) => {
    assertSlopes(sumOf(`torch.${name}`, ["logprobs", "bound"]))
    assertSlopes(sumOf(`torch.${name}`, ["bound", "logprobs"]))
  })
})

describe("a real function returns the C library's value, as Python does:", () => {
  const valuesAt: ReadonlyArray<readonly [target: string, x: ReadonlyArray<number>, expected: number]> = [
    ["torch.exp", [0.7], 2.0137527074704766],
    ["torch.exp2", [0.7], 1.624504792712471],
    ["torch.expm1", [0.7], 1.0137527074704764],
    ["torch._C._special.special_expm1", [0.7], 1.0137527074704764],
    ["torch.log", [0.7], -0.35667494393873245],
    ["torch.log2", [0.7], -0.5145731728297583],
    ["torch.log10", [0.7], -0.1549019599857432],
    ["torch.log1p", [0.7], 0.5306282510621704],
    ["torch._C._special.special_log1p", [0.7], 0.5306282510621704],
    ["torch.sqrt", [0.7], 0.8366600265340756],
    ["torch.rsqrt", [0.7], 1.1952286093343936],
    ["torch.sin", [0.7], 0.644217687237691],
    ["torch.cos", [0.7], 0.7648421872844885],
    ["torch.tan", [0.7], 0.8422883804630794],
    ["torch.sinh", [0.7], 0.7585837018395334],
    ["torch.cosh", [0.7], 1.255169005630943],
    ["torch.tanh", [0.7], 0.6043677771171636],
    ["torch.asin", [0.7], 0.775397496610753],
    ["torch.acos", [0.7], 0.7953988301841436],
    ["torch.atan", [0.7], 0.6107259643892086],
    ["torch.logit", [0.7], 0.8472978603872036],
    ["torch.erfc", [0.7], 0.32219880616258156],
    ["torch.erf", [-3], -0.9999779095030014],
    ["torch.erf", [-0.5], -0.5204998778130465],
    ["torch.erf", [2.4999], 0.9995928300996666],
    ["torch.erf", [2.5], 0.999593047982555],
    ["torch.erf", [3], 0.9999779095030014],
    ["torch.erf", [4.5], 0.9999999998033839],
    ["torch.erf", [6.5], 1],
    ["torch.erf", [7, -8], 0],
    ["torch._C._special.special_erf", [0.7], 0.6778011938374184]
  ]
  it.each(valuesAt)("%s(%j)", (target, x, expected) => {
    assert.closeTo(evaluate(sumOf(target, ["logprobs"]), x).loss, expected, 5e-15)
  })

  it("torch.atan2, torch.logaddexp and torch.xlogy", () => {
    const sums = ofTwo.map((name) => evaluate(sumOf(`torch.${name}`, ["logprobs", "bound"]), [0.7, 0.3]).loss)
    const expected = [1.8449637779145553, 2.2887933201471418, -0.8404093103664235]
    sums.forEach((sum, at) => assert.closeTo(sum, expected[at] ?? NaN, 1e-15))
  })

  it.each([
    [-Infinity, -Infinity, -Infinity],
    [0, -Infinity, 0],
    [-Infinity, 0, 0],
    [Infinity, 0, Infinity],
    [Infinity, Infinity, Infinity],
    [-1, -1e300, -1]
  ])("torch.logaddexp(%s, %s)", (x, bound, expected) => {
    const inputs = { logprobs: { data: [x], shape: [1] }, bound: { data: [bound], shape: [1] } }
    const compiled = Result.getOrThrow(Interpreter.compile(sumOf("torch.logaddexp", ["logprobs", "bound"])))
    assert.strictEqual(Result.getOrThrow(Interpreter.evaluate(compiled, inputs)).loss, expected)
  })
})
