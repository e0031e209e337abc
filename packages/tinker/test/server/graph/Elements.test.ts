/** Elementwise tensor operations compared with their definitions, including their arguments, number types and Python numbers. */
import type { LossGraph } from "@effect-rl/core/losses"
import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import * as Traced from "./Traced.ts"

const { call, method, ref } = Traced

type Json = Schema.Json
type Named = Readonly<Record<string, Json>>

/** The torch expression, the traced nodes up to `y`, and the definition of each result element from the elements of `a` and `b`. */
type Row = readonly [
  title: string,
  nodes: ReadonlyArray<LossGraph.Node>,
  element: (a: number, b: number, t: number) => number
]

const [a, b] = [ref("a"), ref("b")]
const y = (target: string, args: ReadonlyArray<Json>, kwargs?: Named) =>
  target.includes(".") ? call("y", target, args, kwargs) : method("y", target, args, kwargs)
const getattr = (of: Json, name: string, as = "y") => call(as, "getattr", [of, name])

/** Non-integer numbers with both signs, some of them equal. */
const [valuesT, othersT] = [[-1.6, -0.3, 0.45, 0.7, 1.8, 2.4], [0.5, -0.3, 1.3, -0.7, 0.4, 2.4]]

const isAboveZero = call("mask", "operator.gt", [a, 0])
const places = (name = "places") => call(name, "torch.arange", [6])

/** The remainder with the sign of the divisor. */
const modulo = (a: number, b: number) => a - Math.floor(a / b) * b

const smooth: ReadonlyArray<Row> = [
  ["a + b", [y("operator.add", [a, b])], (a, b) => a + b],
  ["torch.add(a, b, alpha=2)", [y("torch.add", [a, b], { alpha: 2 })], (a, b) => a + 2 * b],
  ["a.add(b, alpha=-1)", [y("add", [a, b], { alpha: -1 })], (a, b) => a - b],
  ["a.sub(b, alpha=3)", [y("sub", [a, b], { alpha: 3 })], (a, b) => a - 3 * b],
  ["a.sub(b, alpha=-1)", [y("sub", [a, b], { alpha: -1 })], (a, b) => a + b],
  ["torch.rsub(a, b, alpha=2)", [y("torch.rsub", [a, b], { alpha: 2 })], (a, b) => b - 2 * a],
  ["3 - a", [y("operator.sub", [3, a])], (a) => 3 - a],
  ["2 / (a + 2)", [call("more", "operator.add", [a, 2]), y("operator.truediv", [2, ref("more")])], (a) => 2 / (a + 2)],
  ["a / b", [y("operator.truediv", [a, b])], (a, b) => a / b],
  ["a % b, with the sign of b", [y("operator.mod", [a, 0.77])], (a) => modulo(a, 0.77)],
  ["1.7 % b", [y("operator.mod", [1.7, a])], (a) => modulo(1.7, a)],
  ["a.fmod(0.77), with the sign of a", [y("fmod", [a, 0.77])], (a) => a % 0.77],
  ["torch.fmod(1.7, a)", [y("torch.fmod", [1.7, a])], (a) => 1.7 % a],
  ["a ** 2", [y("operator.pow", [a, 2])], (a) => a * a],
  ["a ** 3", [y("operator.pow", [a, 3])], (a) => a ** 3],
  ["2 ** a", [y("operator.pow", [2, a])], (a) => 2 ** a],
  ["0 ** (a + 2)", [call("more", "operator.add", [a, 2]), y("operator.pow", [0, ref("more")])], () => 0],
  ["(a * a) ** b", [call("squares", "torch.square", [a]), y("pow", [ref("squares"), b])], (a, b) => (a * a) ** b],
  ["torch.hypot(a, b)", [y("torch.hypot", [a, b])], (a, b) => Math.hypot(a, b)],
  ["torch.lerp(a, b, 0.3)", [y("torch.lerp", [a, b, 0.3])], (a, b) => a + 0.3 * (b - a)],
  ["torch.addcmul(a, a, b, value=0.5)", [y("torch.addcmul", [a, a, b], { value: 0.5 })], (a, b) => a + 0.5 * a * b],
  ["a.addcdiv(a, b, value=2)", [y("addcdiv", [a, a, b], { value: 2 })], (a, b) => a + 2 * a / b],
  ["-a", [y("operator.neg", [a])], (a) => -a],
  ["+a", [y("operator.pos", [a])], (a) => a],
  ["abs(a)", [y("operator.abs", [a])], Math.abs],
  ["a.reciprocal()", [y("reciprocal", [a])], (a) => 1 / a],
  ["a.frac()", [y("frac", [a])], (a) => a - Math.trunc(a)],
  ["torch.maximum(a, 0.6)", [y("torch.maximum", [a, 0.6])], (a) => Math.max(a, 0.6)],
  ["torch.fmin(a, 0.6)", [y("torch.fmin", [a, 0.6])], (a) => Math.min(a, 0.6)],
  ["a.clamp(-1, 1)", [y("clamp", [a, -1, 1])], (a) => Math.min(Math.max(a, -1), 1)],
  ["torch.where(a > 0, a, b)", [isAboveZero, y("torch.where", [ref("mask"), a, b])], (a, b) => a > 0 ? a : b],
  ["a.where(a > 0, b)", [isAboveZero, y("where", [a, ref("mask"), b])], (a, b) => a > 0 ? a : b],
  ["a.masked_fill(a > 0, 7)", [isAboveZero, y("masked_fill", [a, ref("mask"), 7])], (a) => a > 0 ? 7 : a],
  [
    "torch.log(a).nan_to_num(2)",
    [call("logs", "torch.log", [a]), y("nan_to_num", [ref("logs"), 2])],
    (a) => a > 0 ? Math.log(a) : 2
  ],
  ["torch.logaddexp(a, b)", [y("torch.logaddexp", [a, b])], (a, b) => Math.log(Math.exp(a) + Math.exp(b))],
  [
    "F.softplus(a, 2, 1), linear above a half",
    [y("torch.nn.functional.softplus", [a, 2, 1])],
    (a) => 2 * a > 1 ? a : Math.log(1 + Math.exp(2 * a)) / 2
  ],
  ["F.leaky_relu(a, 0.2)", [y("torch.nn.functional.leaky_relu", [a, 0.2])], (a) => a > 0 ? a : 0.2 * a],
  ["F.elu(a, 2)", [y("torch.nn.functional.elu", [a, 2])], (a) => a > 0 ? a : 2 * (Math.exp(a) - 1)],
  ["F.tanh(a)", [y("torch.nn.functional.tanh", [a])], Math.tanh],
  ["F.logsigmoid(a)", [y("torch.nn.functional.logsigmoid", [a])], (a) => -Math.log(1 + Math.exp(-a))],
  ["a * torch.arange(6)", [places(), y("operator.mul", [a, ref("places")])], (a, _, t) => a * t],
  ["a * torch.arange(2, 14, 2)", [call("even", "torch.arange", [2, 14, 2]), y("operator.mul", [a, ref("even")])], (
    a,
    _,
    t
  ) => a * (2 + 2 * t)],
  ["a * torch.arange(0, 3, 0.5)", [call("half", "torch.arange", [0, 3, 0.5]), y("operator.mul", [a, ref("half")])], (
    a,
    _,
    t
  ) => a * 0.5 * t],
  ["a * a.shape[0]", [
    getattr(a, "shape", "shape"),
    call("length", "operator.getitem", [ref("shape"), 0]),
    y("operator.mul", [
      a,
      ref("length")
    ])
  ], (a) => 6 * a],
  ["a * (a.shape[-1] - 1) // 2", [
    getattr(a, "shape", "shape"),
    call("length", "operator.getitem", [ref("shape"), -1]),
    call("less", "operator.sub", [ref("length"), 1]),
    call("half", "operator.floordiv", [ref("less"), 2]),
    y("operator.mul", [a, ref("half")])
  ], (a) => 2 * a],
  ["a * a.size(0)", [method("length", "size", [a, 0]), y("operator.mul", [a, ref("length")])], (a) => 6 * a],
  ["a / a.numel()", [method("count", "numel", [a]), y("operator.truediv", [a, ref("count")])], (a) => a / 6],
  ["a * a.ndim", [getattr(a, "ndim", "rank"), y("operator.mul", [a, ref("rank")])], (a) => a],
  ["a * a[None].dim()", [
    method("row", "unsqueeze", [a, 0]),
    method("rank", "dim", [ref("row")]),
    y("operator.mul", [a, ref("rank")])
  ], (a) => 2 * a],
  ["a.real", [getattr(a, "real")], (a) => a],
  ["a + (a * 3).data, of which only a has a gradient", [
    call("thrice", "operator.mul", [a, 3]),
    getattr(ref("thrice"), "data", "data"),
    call("difference", "operator.sub", [ref("data"), ref("data")]),
    y("operator.add", [a, ref("difference")])
  ], (a) => a],
  ["a.double()", [y("double", [a])], (a) => a],
  ["a.to(a.dtype)", [getattr(a, "dtype", "dtype"), y("to", [a, ref("dtype")])], (a) => a],
  [
    "a * b.new_full((6,), 0.1)",
    [method("tenths", "new_full", [b, [6], 0.1]), y("operator.mul", [a, ref("tenths")])],
    (a) => a * 0.1
  ],
  [
    "a * torch.full_like(a, 0.1)",
    [call("tenths", "torch.full_like", [a, 0.1]), y("operator.mul", [a, ref("tenths")])],
    (
      a
    ) => a * 0.1
  ],
  ["a + torch.zeros_like(a) + torch.ones_like(a)", [
    call("zeros", "torch.zeros_like", [a]),
    call("ones", "torch.ones_like", [a]),
    call("both", "operator.add", [ref("zeros"), ref("ones")]),
    y("operator.add", [a, ref("both")])
  ], (a) => a + 1]
]

const losses: ReadonlyArray<Row> = [
  [
    "F.l1_loss(a, b, reduction='none')",
    [y("torch.nn.functional.l1_loss", [a, b], { reduction: "none" })],
    (a, b) => Math.abs(a - b)
  ],
  [
    "F.mse_loss(a, b, reduction='none')",
    [y("torch.nn.functional.mse_loss", [a, b], { reduction: "none" })],
    (a, b) => (a - b) ** 2
  ],
  ["F.smooth_l1_loss(a, 0.1, reduction='none', beta=0.65)", [
    y("torch.nn.functional.smooth_l1_loss", [a, 0.1], { reduction: "none", beta: 0.65 })
  ], (a) => Math.abs(a - 0.1) < 0.65 ? 0.5 * (a - 0.1) ** 2 / 0.65 : Math.abs(a - 0.1) - 0.325],
  ["F.smooth_l1_loss(a, 0.1, reduction='none', beta=0)", [
    y("torch.nn.functional.smooth_l1_loss", [a, 0.1], { reduction: "none", beta: 0 })
  ], (a) => Math.abs(a - 0.1)],
  ["F.huber_loss(a, 0.1, reduction='none', delta=0.5)", [
    y("torch.nn.functional.huber_loss", [a, 0.1], { reduction: "none", delta: 0.5 })
  ], (a) => Math.abs(a - 0.1) < 0.5 ? 0.5 * (a - 0.1) ** 2 : 0.5 * (Math.abs(a - 0.1) - 0.25)],
  ["F.binary_cross_entropy_with_logits(a, 0.3, reduction='none')", [
    y("torch.nn.functional.binary_cross_entropy_with_logits", [a, 0.3], { reduction: "none" })
  ], (a) => -0.3 * Math.log(1 / (1 + Math.exp(-a))) - 0.7 * Math.log(1 / (1 + Math.exp(a)))],
  ["F.binary_cross_entropy_with_logits(a, 0.3, b, reduction='none')", [
    y("torch.nn.functional.binary_cross_entropy_with_logits", [a, 0.3, b], { reduction: "none" })
  ], (a, b) => b * (-0.3 * Math.log(1 / (1 + Math.exp(-a))) - 0.7 * Math.log(1 / (1 + Math.exp(a))))],
  [
    "F.kl_div(a, 0.3, reduction='none')",
    [y("torch.nn.functional.kl_div", [a, 0.3], { reduction: "none" })],
    (a) => 0.3 * (Math.log(0.3) - a)
  ],
  ["F.kl_div(a, 0, reduction='none')", [y("torch.nn.functional.kl_div", [a, 0], { reduction: "none" })], () => 0],
  ["F.kl_div(b, a * a, reduction='none')", [
    call("squares", "torch.square", [a]),
    y("torch.nn.functional.kl_div", [b, ref("squares")], { reduction: "none" })
  ], (a, b) => a * a * (Math.log(a * a) - b)],
  ["F.kl_div(b, a, reduction='none', log_target=True)", [
    y("torch.nn.functional.kl_div", [b, a], { reduction: "none", log_target: true })
  ], (a, b) => Math.exp(a) * (a - b)]
]

const both = (target: string) => [
  call("left", "operator.gt", [a, 0]),
  call("right", "operator.gt", [b, 0]),
  y(target, [ref("left"), ref("right")])
]

const three = (target: string, other = 3) => [places(), y(target, [ref("places"), other])]

/** Operations whose results do not vary with `a`, and have no gradient. */
const steps: ReadonlyArray<Row> = [
  ["a > b", [y("operator.gt", [a, b])], (a, b) => Number(a > b)],
  ["a >= b", [y("operator.ge", [a, b])], (a, b) => Number(a >= b)],
  ["a < b", [y("operator.lt", [a, b])], (a, b) => Number(a < b)],
  ["a <= b", [y("operator.le", [a, b])], (a, b) => Number(a <= b)],
  ["a == b", [y("operator.eq", [a, b])], (a, b) => Number(a === b)],
  ["a != b", [y("operator.ne", [a, b])], (a, b) => Number(a !== b)],
  [
    "torch.isclose(a, b, 0.5)",
    [y("torch.isclose", [a, b, 0.5])],
    (a, b) => Number(Math.abs(a - b) <= 1e-8 + 0.5 * Math.abs(b))
  ],
  [
    "torch.isclose(a, b, 0, atol=0.9)",
    [y("torch.isclose", [a, b, 0], { atol: 0.9 })],
    (a, b) => Number(Math.abs(a - b) <= 0.9)
  ],
  [
    "torch.isnan(torch.log(a))",
    [call("logs", "torch.log", [a]), y("torch.isnan", [ref("logs")])],
    (a) => Number(a < 0)
  ],
  ["(1 / torch.arange(6)).isfinite()", [
    places(),
    call("shares", "operator.truediv", [1, ref("places")]),
    y("isfinite", [ref("shares")])
  ], (_a, _b, t) => Number(t > 0)],
  ["(-1 / torch.arange(6)).isinf()", [
    places(),
    call("shares", "operator.truediv", [-1, ref("places")]),
    y("isinf", [ref("shares")])
  ], (_a, _b, t) => Number(t === 0)],
  ["(a > 0) & (b > 0)", both("operator.and_"), (a, b) => Number(a > 0 && b > 0)],
  ["(a > 0) | (b > 0)", both("operator.or_"), (a, b) => Number(a > 0 || b > 0)],
  ["(a > 0) ^ (b > 0)", both("operator.xor"), (a, b) => Number((a > 0) !== (b > 0))],
  ["torch.logical_and(a > 0, b > 0)", both("torch.logical_and"), (a, b) => Number(a > 0 && b > 0)],
  ["torch.logical_or(a > 0, b > 0)", both("torch.logical_or"), (a, b) => Number(a > 0 || b > 0)],
  ["torch.logical_xor(a > 0, b > 0)", both("torch.logical_xor"), (a, b) => Number((a > 0) !== (b > 0))],
  ["~(a > 0)", [isAboveZero, y("operator.invert", [ref("mask")])], (a) => Number(a <= 0)],
  ["~torch.arange(6)", [places(), y("operator.invert", [ref("places")])], (_a, _b, t) => -t - 1],
  ["torch.arange(6) & 3", three("operator.and_"), (_a, _b, t) => t & 3],
  ["torch.arange(6) | 3", three("operator.or_"), (_a, _b, t) => t | 3],
  ["torch.arange(6) ^ 3", three("operator.xor"), (_a, _b, t) => t ^ 3],
  ["torch.arange(6) // 3", three("operator.floordiv"), (_a, _b, t) => Math.floor(t / 3)],
  ["a // 0.5", [y("operator.floordiv", [a, 0.5])], (a) => Math.floor(a / 0.5)],
  [
    "torch.div(a, 0.5, rounding_mode='floor')",
    [y("torch.div", [a, 0.5], { rounding_mode: "floor" })],
    (a) => Math.floor(a / 0.5)
  ],
  [
    "torch.div(a, 0.5, rounding_mode='trunc')",
    [y("torch.div", [a, 0.5], { rounding_mode: "trunc" })],
    (a) => Math.trunc(a / 0.5)
  ],
  ["a.sign()", [y("sign", [a])], Math.sign],
  ["a.floor()", [y("floor", [a])], Math.floor],
  ["a.ceil()", [y("ceil", [a])], Math.ceil],
  ["a.trunc()", [y("trunc", [a])], Math.trunc],
  ["a.round()", [y("round", [a])], Math.round],
  ["(torch.arange(6) - 1.5).round(), half to even", [
    places(),
    call("halves", "operator.sub", [ref("places"), 1.5]),
    y("round", [ref("halves")])
  ], (_a, _b, t) => [-2, 0, 0, 2, 2, 4][t] ?? NaN],
  ["a.long()", [y("long", [a])], Math.trunc],
  ["a.bool()", [call("positive", "torch.relu", [a]), y("bool", [ref("positive")])], (a) => Number(a > 0)],
  ["a.detach()", [y("detach", [a])], (a) => a],
  ["b.float(), as 32-bit numbers", [y("float", [b])], (_, b) => Math.fround(b)],
  ["b.to(torch.bfloat16), as 32-bit numbers", [y("to", [b, { dtype: "bfloat16" }])], (_, b) => Math.fround(b)],
  ["b.to('cpu', torch.float32)", [y("to", [b, { device: "cpu" }, { dtype: "float32" }])], (_, b) => Math.fround(b)],
  ["b.to('cpu'), unchanged", [y("to", [b, { device: "cpu" }])], (_, b) => b],
  ["b.to(torch.int64)", [y("to", [b, { dtype: "int64" }])], (_, b) => Math.trunc(b)],
  ["b.type_as(torch.arange(6))", [places(), y("type_as", [b, ref("places")])], (_, b) => Math.trunc(b)],
  ["torch.full((6,), 0.1), of 32 bits", [y("torch.full", [[6], 0.1])], () => Math.fround(0.1)],
  [
    "torch.full((6,), 0.1, dtype=torch.float64)",
    [y("torch.full", [[6], 0.1], { dtype: { dtype: "float64" } })],
    () => 0.1
  ],
  ["torch.ones_like(a, dtype=torch.float32) * 0.1, of 32 bits", [
    call("ones", "torch.ones_like", [a], { dtype: { dtype: "float32" } }),
    y("operator.mul", [ref("ones"), 0.1])
  ], () => Math.fround(0.1)],
  [
    "torch.where(a > 0, 0.1, 0.2), of 32 bits",
    [isAboveZero, y("torch.where", [ref("mask"), 0.1, 0.2])],
    (a) => Math.fround(a > 0 ? 0.1 : 0.2)
  ],
  [
    "torch.exp(b.float()), of 32 bits",
    [method("short", "float", [b]), y("torch.exp", [ref("short")])],
    (_, b) => Math.fround(Math.exp(Math.fround(b)))
  ],
  [
    "b.float() * b, of 64 bits",
    [method("short", "float", [b]), y("operator.mul", [ref("short"), b])],
    (_, b) => Math.fround(b) * b
  ],
  ["b.float() * b.sum(), of 32 bits", [
    method("short", "float", [b]),
    method("all", "sum", [b]),
    y("operator.mul", [ref("short"), ref("all")])
  ], (_, b) => Math.fround(Math.fround(b) * othersT.reduce((sum, other) => sum + other, 0))],
  ["torch.arange(6) / 4", three("operator.truediv", 4), (_a, _b, t) => t / 4],
  ["a.new_zeros(6) + a.new_ones(6)", [
    method("zeros", "new_zeros", [a, [6]]),
    method("ones", "new_ones", [a, [6]]),
    y("operator.add", [ref("zeros"), ref("ones")])
  ], () => 1],
  ["torch.zeros(6) + torch.ones(6)", [
    call("zeros", "torch.zeros", [6]),
    call("ones", "torch.ones", [{ tuple: [6] }]),
    y("operator.add", [ref("zeros"), ref("ones")])
  ], () => 1]
]

const weightOf = (t: number) => Math.cos(t) + 2

const step = 1e-5

const closeTo = (found: number, expected: number, tolerance: number, what: string) =>
  assert.isAtMost(Math.abs(found - expected), tolerance * (1 + Math.abs(expected)), `${what}: ${found}, ${expected}`)

const check = (nodes: ReadonlyArray<LossGraph.Node>, element: Row[2], isStep: boolean) => {
  const inputs = { logprobs: valuesT, b: othersT, weights: valuesT.map((_, t) => weightOf(t)) }
  const { gradient, loss } = Result.getOrThrow(Traced.evaluate(
    Traced.sumOfY(
      inputs,
      method("a", "clone", [ref("logprobs")]),
      ...nodes.map((node) => node.name === "y" ? { ...node, name: "result" } : node),
      call("y", "operator.mul", [ref("result"), ref("weights")])
    ),
    inputs
  ))
  const expected = (values: ReadonlyArray<number>) =>
    values.reduce((sum, a, t) => sum + weightOf(t) * element(a, othersT[t] ?? NaN, t), 0)
  closeTo(loss, expected(valuesT), 1e-14, "sum")
  valuesT.forEach((a, t) => {
    const moved = (by: number) => expected(valuesT.with(t, a + by))
    closeTo(gradient[t] ?? NaN, isStep ? 0 : (moved(step) - moved(-step)) / (2 * step), 1e-8, `slope ${t}`)
  })
}

describe("functions with a gradient", () => {
  it.each([...smooth, ...losses])("%s", (_, nodes, element) => check(nodes, element, false))
})

describe("functions without a gradient", () => {
  it.each(steps)("%s", (_, nodes, element) => check(nodes, element, true))
})

describe("losses of torch.nn.functional", () => {
  const inputs = { logprobs: [0.5, -1, 1.5] }
  it.each(
    [[{}, 3.5 / 3], [{ reduction: "mean" }, 3.5 / 3], [{ reduction: "sum" }, 3.5], [
      { reduction: "none" },
      3.5
    ]] as const
  )("are reduced as %j says", (kwargs, expected) => {
    const graph = Traced.sumOfY(inputs, call("y", "torch.nn.functional.mse_loss", [ref("logprobs"), 0], kwargs))
    assert.closeTo(Result.getOrThrow(Traced.evaluate(graph, inputs)).loss, expected, 1e-15)
  })

  it.each(["mean", "sum"])("have no dimension if their reduction is %s", (reduction) => {
    const graph = Traced.sumOfY(
      inputs,
      call("loss", "torch.nn.functional.mse_loss", [ref("logprobs"), 0], { reduction }),
      getattr(ref("loss"), "ndim", "rank"),
      call("y", "operator.mul", [ref("loss"), ref("rank")])
    )
    assert.strictEqual(Result.getOrThrow(Traced.evaluate(graph, inputs)).loss, 0)
  })
})

describe("functions of Python's math module", () => {
  const cases: ReadonlyArray<readonly [name: string, args: ReadonlyArray<number>, expected: number]> = [
    ["exp", [0.7], 2.0137527074704766],
    ["log", [0.7], -0.35667494393873245],
    ["log", [9, 3], 2],
    ["log2", [8], 3],
    ["log10", [1000], 3],
    ["log1p", [0.7], 0.5306282510621704],
    ["expm1", [0.7], 1.0137527074704764],
    ["sqrt", [0.49], 0.7],
    ["pow", [2, 10], 1024],
    ["floor", [-0.7], -1],
    ["ceil", [0.7], 1],
    ["trunc", [-1.7], -1],
    ["fabs", [-0.7], 0.7],
    ["sin", [0.7], 0.644217687237691],
    ["cos", [0.7], 0.7648421872844885],
    ["tanh", [0.7], 0.6043677771171636]
  ]
  it.each(cases)("math.%s(%j)", (name, args, expected) => {
    const inputs = { logprobs: [1] }
    const graph = Traced.sumOfY(
      inputs,
      call("number", `math.${name}`, args),
      call("y", "operator.mul", [ref("logprobs"), ref("number")])
    )
    assert.closeTo(Result.getOrThrow(Traced.evaluate(graph, inputs)).loss, expected, 1e-15)
  })
})

/** The elements of `y`, each computed by a separate loss. */
const elementsOf = (logprobs: ReadonlyArray<number>, count: number, ...nodes: ReadonlyArray<LossGraph.Node>) =>
  Array.from({ length: count }, (_, at) => {
    const graph = Traced.sumOfY(
      { logprobs },
      ...nodes.map((node) => node.name === "y" ? { ...node, name: "result" } : node),
      call("y", "operator.getitem", [ref("result"), at])
    )
    return Result.getOrThrow(Traced.evaluate(graph, { logprobs })).loss
  })

describe("functions of large numbers", () => {
  const large = [-800, -30, 19.5, 20.5, 800]
  const softplus = [0, Math.log1p(Math.exp(-30)), 19.5 + Math.log1p(Math.exp(-19.5)), 20.5, 800]
  const sigmoid = large.map((x) => 1 / (1 + Math.exp(-x)))
  it.each(
    [
      ["torch.sigmoid", sigmoid],
      ["torch.nn.functional.softplus", softplus],
      [
        "torch.nn.functional.logsigmoid",
        large.map((x) => x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)))
      ],
      ["torch.nn.functional.silu", large.map((x, at) => x * (sigmoid[at] ?? NaN))]
    ] as const
  )("%s does not overflow", (target, expected) => {
    const found = elementsOf(large, 5, call("y", target, [ref("logprobs")]))
    found.forEach((value, at) => closeTo(value, expected[at] ?? NaN, 1e-15, `of ${large[at]}`))
  })

  it("a.nan_to_num() replaces infinities by the largest 32-bit numbers, or by given ones", () => {
    const infinite = [
      call("zeros", "torch.zeros_like", [ref("logprobs")]),
      call("x", "torch.div", [ref("logprobs"), ref("zeros")])
    ]
    const values = [-1, 0, 1]
    const largest = 3.4028234663852886e38
    assert.deepStrictEqual(
      elementsOf(values, 3, ...infinite, call("y", "torch.nan_to_num", [ref("x")])),
      [-largest, 0, largest]
    )
    assert.deepStrictEqual(
      elementsOf(values, 3, ...infinite, call("y", "torch.nan_to_num", [ref("x"), 5, 6, 7])),
      [7, 5, 6]
    )
  })
})

describe("equal elements", () => {
  const x = ref("logprobs")
  const values = [2, 1, 2, 1]
  const places = call("y", "operator.getitem", [ref("both"), 1])
  it.each(
    [
      ["the first is the largest", method("both", "max", [x, 0], { keepdim: true }), [0]],
      ["the first is the smallest", method("both", "min", [x, 0], { keepdim: true }), [1]],
      ["the last so far is the largest so far", method("both", "cummax", [x, 0]), [0, 0, 2, 2]],
      ["the last so far is the smallest so far", method("both", "cummin", [x, 0]), [0, 1, 1, 3]],
      ["the first comes first in a sort", method("both", "sort", [x]), [1, 3, 0, 2]],
      ["the first comes first in a falling sort", method("both", "sort", [x, 0, true]), [0, 2, 1, 3]],
      ["the first is the second smallest", method("both", "kthvalue", [x, 1, 0, true]), [1]]
    ] as const
  )("%s", (_, both, expected) => {
    assert.deepStrictEqual(elementsOf(values, expected.length, both, places), [...expected])
  })

  it("share the gradient of their maximum and their minimum", () => {
    const gradientOf = (name: string) =>
      Result.getOrThrow(
        Traced.evaluate(Traced.sumOfY({ logprobs: values }, method("y", name, [x])), { logprobs: values })
      )
        .gradient
    assert.deepStrictEqual([...gradientOf("amax")], [0.5, 0, 0.5, 0])
    assert.deepStrictEqual([...gradientOf("min")], [0, 0.5, 0, 0.5])
  })

  it("count NaN as both the largest and the smallest", () => {
    for (const name of ["argmax", "argmin"]) {
      const nodes = [
        call("logs", "torch.log", [x]),
        method("place", name, [ref("logs")]),
        method("y", "unsqueeze", [ref("place"), 0])
      ]
      assert.deepStrictEqual(elementsOf([1, -1, 3], 1, ...nodes), [1])
    }
  })
})
