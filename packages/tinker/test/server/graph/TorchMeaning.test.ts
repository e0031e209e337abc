/** Results of torch 2.15, for expressions in the form that the official SDK traces. */
import { LossExpression, type LossGraph, LossProgram, LossTerm } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/tinker/server/graph/Interpreter"
import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import * as Samples from "../../../../core/test/losses/Samples.ts"

type Json = Schema.Json
type Named = Readonly<Record<string, Json>>

const node = (
  op: LossGraph.Node["op"],
  name: string,
  target: string,
  args: ReadonlyArray<Json>,
  kwargs: Named = {}
): LossGraph.Node => ({ op, name, target, args, kwargs })

const ref = (name: string) => ({ ref: name })
const placeholder = (name: string) => node("placeholder", name, name, [])
const call = (name: string, target: string, args: ReadonlyArray<Json>, kwargs?: Named) =>
  node("call_function", name, target, args, kwargs)
const method = (name: string, target: string, args: ReadonlyArray<Json>, kwargs?: Named) =>
  node("call_method", name, target, args, kwargs)

/** A loss that sums node `y`, which is computed from `logprobs` and `bound`. */
const sumOf = (...nodes: ReadonlyArray<LossGraph.Node>): LossGraph.LossGraph => ({
  name: "loss",
  inputs: [{ name: "logprobs", rank: 1 }, { name: "bound", rank: 1 }],
  graph: {
    format: 1,
    nodes: [
      placeholder("logprobs"),
      placeholder("bound"),
      ...nodes,
      method("total", "sum", [ref("y")]),
      node("output", "output", "output", [{ tuple: [ref("total"), { dict: {} }] }])
    ]
  }
})

const evaluate = (graph: LossGraph.LossGraph, logprobs: ReadonlyArray<number>, bound: ReadonlyArray<number> = []) => {
  const compiled = Result.getOrThrow(Interpreter.compile(graph))
  const inputs = {
    logprobs: { data: logprobs, shape: [logprobs.length] },
    bound: { data: bound, shape: [bound.length] }
  }
  return Result.map(Interpreter.evaluate(compiled, inputs), ({ gradient, loss }) => ({ loss, gradient: [...gradient] }))
}

const assertClose = (
  { gradient, loss }: { readonly gradient: ReadonlyArray<number>; readonly loss: number },
  [expected, slopes]: readonly [loss: number, gradient: ReadonlyArray<number>]
) => {
  assert.closeTo(loss, expected, 1e-14)
  assert.lengthOf(gradient, slopes.length)
  slopes.forEach((slope, t) => assert.closeTo(gradient[t] ?? NaN, slope, 1e-14, `slope ${t}`))
}

describe("activations of torch.nn.functional", () => {
  const x = [-1.5, -0.5, 0, 0.75]
  const functional = "torch.nn.functional"
  const cases: ReadonlyArray<readonly [target: string, kwargs: Named, loss: number, gradient: ReadonlyArray<number>]> =
    [
      [`${functional}.relu`, { inplace: false }, 0.75, [0, 0, 0, 1]],
      [`${functional}.leaky_relu`, { negative_slope: 0.01, inplace: false }, 0.73, [0.01, 0.01, 0.01, 1]],
      [
        `${functional}.silu`,
        { inplace: false },
        0.046975404272937504,
        [-0.041294154299142946, 0.2600388126973482, 0.5, 0.8425999444967536]
      ],
      [
        `${functional}.elu`,
        { alpha: 1, inplace: false },
        -0.4203391801389369,
        [0.22313016014842982, 0.6065306597126334, 1, 1]
      ],
      [
        "torch._C._nn.gelu",
        { approximate: "tanh" },
        0.32524614197099716,
        [-0.12771079315143308, 0.13263009646535764, 0.5, 0.9989382561374143]
      ],
      [
        "torch._C._nn.gelu",
        { approximate: "none" },
        0.3255499144510684,
        [-0.1274691922299796, 0.13250487534383712, 0.5, 0.9992257217392352]
      ]
    ]
  it.each(cases)("%s %j", (target, kwargs, loss, gradient) => {
    const found = Result.getOrThrow(evaluate(sumOf(call("y", target, [ref("logprobs")], kwargs)), x))
    assertClose(found, [loss, gradient])
  })

  it("are refused if they would change their operand in place", () => {
    const graph = sumOf(call("y", `${functional}.relu`, [ref("logprobs")], { inplace: true }))
    const found = evaluate(graph, x)
    assert.include(
      Result.isFailure(found) ? found.failure.message : "accepted",
      "y: torch.nn.functional.relu: argument inplace is true, expected false"
    )
  })

  it("refuse every gelu approximation except tanh", () => {
    const found = evaluate(sumOf(call("y", "torch._C._nn.gelu", [ref("logprobs")], { approximate: "erf" })), x)
    assert.include(
      Result.isFailure(found) ? found.failure.message : "accepted",
      `argument approximate is "erf", expected "none" or "tanh"`
    )
  })
})

describe("values and indices accessed by name", () => {
  const x = [-0.5, -1.25, -0.125, -2]
  const product = (...chosen: ReadonlyArray<LossGraph.Node>) =>
    sumOf(
      ...chosen,
      call("values", "getattr", [ref("both"), "values"]),
      call("indices", "getattr", [ref("both"), "indices"]),
      call("place", "operator.add", [ref("indices"), 1]),
      call("y", "operator.mul", [ref("values"), ref("place")])
    )
  const logprobs = ref("logprobs")
  const cases: ReadonlyArray<
    readonly [title: string, both: LossGraph.Node, loss: number, gradient: ReadonlyArray<number>]
  > = [
    ["max(dim)", method("both", "max", [logprobs], { dim: 0 }), -0.375, [0, 0, 3, 0]],
    ["min(dim)", method("both", "min", [logprobs, 0]), -8, [0, 0, 0, 4]],
    ["median(dim)", method("both", "median", [logprobs], { dim: 0 }), -2.5, [0, 2, 0, 0]],
    ["sort", call("both", "torch.sort", [logprobs]), -11.375, [1, 2, 3, 4]],
    ["topk", method("both", "topk", [logprobs, 2]), -0.875, [1, 0, 3, 0]],
    ["kthvalue", method("both", "kthvalue", [logprobs, 2]), -2.5, [0, 2, 0, 0]],
    ["cummax", method("both", "cummax", [logprobs], { dim: 0 }), -1.75, [2, 0, 6, 0]],
    ["cummin", method("both", "cummin", [logprobs, 0]), -13.5, [1, 4, 0, 4]]
  ]
  it.each(cases)("of %s", (_, both, loss, gradient) => {
    assertClose(Result.getOrThrow(evaluate(product(both), x)), [loss, gradient])
  })

  it("are refused for a tuple without names", () => {
    const graph = sumOf(
      call("both", "torch.chunk", [ref("logprobs"), 2]),
      call("y", "getattr", [ref("both"), "values"])
    )
    const found = evaluate(graph, x)
    assert.include(
      Result.isFailure(found) ? found.failure.message : "accepted",
      "y: getattr: a tuple has no attribute values"
    )
  })

  it.each(
    [
      [[0, 2], -0.625, [1, 0, 1, 0]],
      [[-1, 0, 0], -3, [2, 0, 0, 1]]
    ] as const
  )("elements by a list of places: logprobs[%j]", (places, loss, gradient) => {
    const graph = sumOf(call("y", "operator.getitem", [ref("logprobs"), [...places]]))
    assertClose(Result.getOrThrow(evaluate(graph, x)), [loss, gradient])
  })

  it("select one element by a tuple of positions: rows[0, 2]", () => {
    const graph = sumOf(
      method("rows", "unsqueeze", [ref("logprobs"), 0]),
      call("y", "operator.getitem", [ref("rows"), { tuple: [0, 2] }])
    )
    assertClose(Result.getOrThrow(evaluate(graph, x)), [-0.125, [0, 0, 1, 0]])
  })
})

describe("the gradient at a bound", () => {
  const x = [-1, 0, 1]
  const zeros = [0, 0, 0]
  const logprobs = ref("logprobs")
  const bound = ref("bound")
  const cases: ReadonlyArray<readonly [title: string, y: LossGraph.Node, gradient: ReadonlyArray<number>]> = [
    ["clamp(min=0)", method("y", "clamp", [logprobs], { min: 0 }), [0, 0, 1]],
    ["clamp(max=0)", method("y", "clamp", [logprobs], { max: 0 }), [1, 0, 0]],
    ["clamp(-1, 0)", method("y", "clamp", [logprobs, -1, 0]), [0, 0, 0]],
    ["clamp(-2, 2)", method("y", "clamp", [logprobs, -2, 2]), [1, 1, 1]],
    ["torch.clip(min=0)", call("y", "torch.clip", [logprobs], { min: 0 }), [0, 0, 1]],
    ["clamp_min(0)", method("y", "clamp_min", [logprobs, 0]), [0, 0, 1]],
    ["clamp_max(0)", call("y", "torch.clamp_max", [logprobs, 0]), [1, 0, 0]],
    ["clamp(min=tensor)", method("y", "clamp", [logprobs], { min: bound }), [0, 0.5, 1]],
    ["clamp(max=tensor)", method("y", "clamp", [logprobs], { max: bound }), [1, 0.5, 0]],
    ["clip(min=tensor)", method("y", "clip", [logprobs], { min: bound }), [0, 0.5, 1]],
    ["clamp_min(tensor)", method("y", "clamp_min", [logprobs, bound]), [0, 0.5, 1]],
    ["clamp_max(tensor)", call("y", "torch.clamp_max", [logprobs, bound]), [1, 0.5, 0]]
  ]
  it.each(cases)("is 0 at a constant bound, and divided between value and bound at a tensor: %s", (_, y, gradient) => {
    const graph = sumOf(y)
    assert.deepStrictEqual(Result.getOrThrow(evaluate(graph, x, zeros)).gradient, gradient)
    const data = [x, x].map((logprobs) => ({
      logprobs: { data: logprobs, shape: [3] },
      bound: { data: zeros, shape: [3] }
    }))
    const program = Result.getOrUndefined(LossProgram.compile(graph))
    const together = program === undefined ? [] : Result.getOrThrow(LossProgram.evaluateAll(program, data))
    for (const evaluation of together) assert.deepStrictEqual([...evaluation.gradient], gradient)
  })

  it("is divided between value and bound if the bound also depends on the log-probabilities", () => {
    const graph = sumOf(
      call("limit", "operator.mul", [logprobs, 2]),
      method("y", "clamp", [logprobs], { min: ref("limit") })
    )
    assert.deepStrictEqual(Result.getOrThrow(evaluate(graph, x)).gradient, [1, 1.5, 2])
  })

  it("is 0 if the log-probabilities equal the sampler's: (logprobs - old).clamp(min=0)", () => {
    const { clamp, maximum, sub, sum } = LossTerm
    const bounded = [
      LossExpression.make(
        "clamp",
        { extras: Samples.extras },
        ({ logprobs, samplerLogprobs }) => sum(clamp(sub(logprobs, samplerLogprobs), { low: 0 }))
      ),
      LossExpression.make(
        "maximum",
        { extras: Samples.extras },
        ({ logprobs, samplerLogprobs }) => sum(maximum(sub(logprobs, samplerLogprobs), 0))
      )
    ]
    for (const expression of bounded) {
      const { example, logprobs } = Samples.sample(expression, 1, 0)
      const { gradient } = Result.getOrThrow(LossExpression.evaluate(expression, example, example.inputs.logprobs))
      assert.deepStrictEqual([...gradient], logprobs.map(() => 0))
    }
  })
})
