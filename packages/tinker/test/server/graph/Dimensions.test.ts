/** Operations on tensors with two and three dimensions, compared with the definition of each result element. */
import type { LossGraph } from "@effect-rl/core/losses"
import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import * as Traced from "./Traced.ts"

const { call, method, ref } = Traced

type Json = Schema.Json

/** Accessors for `x` with shape [2, 3, 4], and for `m`, the same elements with shape [4, 6]. */
interface Elements {
  readonly x: (i: number, j: number, k: number) => number
  readonly m: (row: number, column: number) => number
}

/** The torch expression, the traced nodes up to `y`, the result's shape, and the definition of its elements. */
type Row = readonly [
  title: string,
  nodes: ReadonlyArray<LossGraph.Node>,
  shape: ReadonlyArray<number>,
  element: (elements: Elements, ...place: ReadonlyArray<number>) => number
]

const [x, m] = [ref("x"), ref("m")]
const y = (target: string, args: ReadonlyArray<Json>, kwargs?: Readonly<Record<string, Json>>) =>
  target.includes(".") ? call("y", target, args, kwargs) : method("y", target, args, kwargs)
const tuple = (...parts: ReadonlyArray<Json>) => ({ tuple: parts })
const slice = (start: number | null, stop: number | null, step: number | null = null) => ({
  slice: [start, stop, step]
})
const all = slice(null, null)
const ellipsis = { ellipsis: true }
const partOf = (of: Json, index: Json, name = "y") => call(name, "operator.getitem", [of, index])
const part = (...index: ReadonlyArray<Json>) => [partOf(x, tuple(...index))]

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)
const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)
const product = (values: ReadonlyArray<number>) => values.reduce((total, value) => total * value, 1)
const average = (values: ReadonlyArray<number>) => sum(values) / values.length
const ascending = (values: ReadonlyArray<number>) => values.toSorted((left, right) => left - right)
const nth = (values: ReadonlyArray<number>, at: number) => ascending(values).at(at) ?? NaN
const variance = (values: ReadonlyArray<number>, correction: number) =>
  sum(values.map((value) => (value - average(values)) ** 2)) / (values.length - correction)
const logSumExp = (values: ReadonlyArray<number>) => Math.log(sum(values.map(Math.exp)))
const norm = (values: ReadonlyArray<number>, p: number) => sum(values.map((value) => Math.abs(value) ** p)) ** (1 / p)

/** Elements of `x` along its first, second and last dimension, and all elements. */
const first = ({ x }: Elements, j = 0, k = 0) => upTo(2).map((i) => x(i, j, k))
const second = ({ x }: Elements, i = 0, k = 0) => upTo(3).map((j) => x(i, j, k))
const last = ({ x }: Elements, i = 0, j = 0) => upTo(4).map((k) => x(i, j, k))
const every = ({ m }: Elements) => upTo(24).map((at) => m(0, at))

const shapes: ReadonlyArray<Row> = [
  ["x.permute(2, 0, 1)", [y("permute", [x, 2, 0, 1])], [4, 2, 3], ({ x }, k = 0, i = 0, j = 0) => x(i, j, k)],
  [
    "torch.permute(x, (1, -1, 0))",
    [y("torch.permute", [x, tuple(1, -1, 0)])],
    [3, 4, 2],
    ({ x }, j = 0, k = 0, i = 0) => x(i, j, k)
  ],
  ["x.transpose(0, -1)", [y("transpose", [x, 0, -1])], [4, 3, 2], ({ x }, k = 0, j = 0, i = 0) => x(i, j, k)],
  ["x.mT", [call("y", "getattr", [x, "mT"])], [2, 4, 3], ({ x }, i = 0, k = 0, j = 0) => x(i, j, k)],
  ["m.T", [call("y", "getattr", [m, "T"])], [6, 4], ({ m }, column = 0, row = 0) => m(row, column)],
  ["m.t()", [y("t", [m])], [6, 4], ({ m }, column = 0, row = 0) => m(row, column)],
  ["x.flatten(1)", [y("flatten", [x, 1])], [2, 12], ({ m }, i = 0, at = 0) => m(2 * i, at)],
  ["x.flatten(0, 1)", [y("flatten", [x, 0, 1])], [6, 4], ({ x }, at = 0, k = 0) => x(0, at, k)],
  ["x.sum().flatten()", [method("all", "sum", [x]), y("flatten", [ref("all")])], [1], (all) => sum(every(all))],
  ["x.sum().t()", [method("all", "sum", [x]), y("t", [ref("all")])], [], (all) => sum(every(all))],
  [
    "x[0, 0].mT",
    [partOf(x, tuple(0, 0), "vector"), call("y", "getattr", [ref("vector"), "mT"])],
    [4],
    ({ x }, k = 0) => x(0, 0, k)
  ],
  ["x.ravel()", [y("ravel", [x])], [24], ({ m }, at = 0) => m(0, at)],
  ["x.view(4, -1)", [y("view", [x, 4, -1])], [4, 6], ({ m }, row = 0, column = 0) => m(row, column)],
  ["x.view_as(m)", [y("view_as", [x, m])], [4, 6], ({ m }, row = 0, column = 0) => m(row, column)],
  ["x.unsqueeze(-2)", [y("unsqueeze", [x, -2])], [2, 3, 1, 4], ({ x }, i = 0, j = 0, _ = 0, k = 0) => x(i, j, k)],
  ["x[:1].squeeze(0)", [partOf(x, slice(0, 1), "one"), y("squeeze", [ref("one"), 0])], [3, 4], (
    { x },
    j = 0,
    k = 0
  ) => x(0, j, k)],
  [
    "x[:1, :, :1].squeeze(-1)",
    [partOf(x, tuple(slice(0, 1), all, slice(0, 1)), "ones"), y("squeeze", [ref("ones"), -1])],
    [1, 3],
    ({ x }, _ = 0, j = 0) => x(0, j, 0)
  ],
  [
    "x[:1, :, :1].squeeze()",
    [partOf(x, tuple(slice(0, 1), all, slice(0, 1)), "ones"), y("squeeze", [ref("ones")])],
    [3],
    ({ x }, j = 0) => x(0, j, 0)
  ],
  [
    "x[:, :1].expand(-1, 3, 4)",
    [partOf(x, tuple(all, slice(0, 1)), "row"), y("expand", [ref("row"), -1, 3, 4])],
    [2, 3, 4],
    ({ x }, i = 0, _ = 0, k = 0) => x(i, 0, k)
  ],
  [
    "x[:, :, :1].expand_as(x)",
    [partOf(x, tuple(all, all, slice(0, 1)), "column"), y("expand_as", [ref("column"), x])],
    [2, 3, 4],
    ({ x }, i = 0, j = 0) => x(i, j, 0)
  ],
  [
    "torch.broadcast_to(x[1], (2, 3, 4))",
    [partOf(x, 1, "matrix"), y("torch.broadcast_to", [ref("matrix"), tuple(2, 3, 4)])],
    [2, 3, 4],
    ({ x }, _ = 0, j = 0, k = 0) => x(1, j, k)
  ],
  [
    "x[:, :, :1] * x[0, :1], whose dimensions of one element are repeated",
    [
      partOf(x, tuple(all, all, slice(0, 1)), "columns"),
      partOf(x, tuple(0, slice(0, 1)), "row"),
      y("operator.mul", [ref("columns"), ref("row")])
    ],
    [2, 3, 4],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, 0) * x(0, 0, k)
  ]
]

const isNegative = [partOf(m, tuple(all, 0), "front"), call("mask", "operator.lt", [ref("front"), 0])]

const indices: ReadonlyArray<Row> = [
  ["x[1]", [partOf(x, 1)], [3, 4], ({ x }, j = 0, k = 0) => x(1, j, k)],
  ["x[-1, 2]", part(-1, 2), [4], ({ x }, k = 0) => x(1, 2, k)],
  ["x[:, 2]", part(all, 2), [2, 4], ({ x }, i = 0, k = 0) => x(i, 2, k)],
  ["x[..., 1]", part(ellipsis, 1), [2, 3], ({ x }, i = 0, j = 0) => x(i, j, 1)],
  ["x[1, ..., 1:3]", part(1, ellipsis, slice(1, 3)), [3, 2], ({ x }, j = 0, k = 0) => x(1, j, k + 1)],
  [
    "x[:, 1:, ::3]",
    part(all, slice(1, null), slice(null, null, 3)),
    [2, 2, 2],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j + 1, 3 * k)
  ],
  [
    "x[:, -2:, :-1]",
    part(all, slice(-2, null), slice(null, -1)),
    [2, 2, 3],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j + 1, k)
  ],
  ["x[:, 1:9, -9:2]", part(all, slice(1, 9), slice(-9, 2)), [2, 2, 2], ({ x }, i = 0, j = 0, k = 0) => x(i, j + 1, k)],
  ["x[:, None, 1]", part(all, null, 1), [2, 1, 4], ({ x }, i = 0, _ = 0, k = 0) => x(i, 1, k)],
  [
    "x[:, [2, 0], 1:]",
    part(all, [2, 0], slice(1, null)),
    [2, 2, 3],
    ({ x }, i = 0, j = 0, k = 0) => x(i, 2 - 2 * j, k + 1)
  ],
  [
    "x[:, torch.arange(2), 1:]",
    [call("places", "torch.arange", [2]), partOf(x, tuple(all, ref("places"), slice(1, null)))],
    [2, 2, 3],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, k + 1)
  ],
  [
    "x[:, torch.arange(4).view(2, 2) % 3], whose places have two dimensions",
    [
      call("numbers", "torch.arange", [4]),
      method("square", "view", [ref("numbers"), 2, 2]),
      call("places", "operator.mod", [ref("square"), 3]),
      partOf(x, tuple(all, ref("places"), slice(1, null)))
    ],
    [2, 2, 2, 3],
    ({ x }, i = 0, row = 0, column = 0, k = 0) => x(i, (2 * row + column) % 3, k + 1)
  ],
  [
    "m[m[:, 0] < 0]",
    [...isNegative, partOf(m, ref("mask"))],
    [2, 6],
    ({ m }, row = 0, column = 0) => m(upTo(4).filter((row) => m(row, 0) < 0)[row] ?? NaN, column)
  ],
  [
    "m[m[:, 0] < 0, 1:3]",
    [...isNegative, partOf(m, tuple(ref("mask"), slice(1, 3)))],
    [2, 2],
    ({ m }, row = 0, column = 0) => m(upTo(4).filter((row) => m(row, 0) < 0)[row] ?? NaN, column + 1)
  ],
  [
    "torch.masked_select(x, x > 1)",
    [call("mask", "operator.gt", [x, 1]), y("torch.masked_select", [x, ref("mask")])],
    [4],
    (all, at = 0) => every(all).filter((value) => value > 1)[at] ?? NaN
  ],
  ["x.narrow(2, 1, 2)", [y("narrow", [x, 2, 1, 2])], [2, 3, 2], ({ x }, i = 0, j = 0, k = 0) => x(i, j, k + 1)],
  ["x.select(1, -1)", [y("select", [x, 1, -1])], [2, 4], ({ x }, i = 0, k = 0) => x(i, 2, k)],
  [
    "x.index_select(2, torch.arange(1, 4, 2))",
    [call("places", "torch.arange", [1, 4, 2]), y("index_select", [x, 2, ref("places")])],
    [2, 3, 2],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, 2 * k + 1)
  ],
  [
    "x.gather(1, x.argsort(1))",
    [method("places", "argsort", [x, 1]), y("gather", [x, 1, ref("places")])],
    [2, 3, 4],
    (all, i = 0, j = 0, k = 0) => nth(second(all, i, k), j)
  ],
  [
    "torch.gather(x, 2, torch.arange(2).view(1, 1, 2))",
    [
      call("numbers", "torch.arange", [2]),
      method("places", "view", [ref("numbers"), 1, 1, 2]),
      y("torch.gather", [x, 2, ref("places")])
    ],
    [1, 1, 2],
    ({ x }, _i = 0, _j = 0, k = 0) => x(0, 0, k)
  ],
  [
    "x.unbind(1)[2]",
    [method("parts", "unbind", [x, 1]), partOf(ref("parts"), 2)],
    [2, 4],
    ({ x }, i = 0, k = 0) => x(i, 2, k)
  ],
  [
    "x.unbind(2)[1:3][-1]",
    [method("parts", "unbind", [x, 2]), partOf(ref("parts"), slice(1, 3), "middle"), partOf(ref("middle"), -1)],
    [2, 3],
    ({ x }, i = 0, j = 0) => x(i, j, 2)
  ],
  ["x.split(2, 1)[1]", [method("parts", "split", [x, 2, 1]), partOf(ref("parts"), 1)], [2, 1, 4], (
    { x },
    i = 0,
    _ = 0,
    k = 0
  ) => x(i, 2, k)],
  [
    "torch.split(x, [1, 3], 2)[1]",
    [call("parts", "torch.functional.split", [x, [1, 3], 2]), partOf(ref("parts"), 1)],
    [2, 3, 3],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, k + 1)
  ],
  [
    "x.chunk(3, 2)[1], which has no third piece",
    [method("parts", "chunk", [x, 3, 2]), partOf(ref("parts"), -1)],
    [2, 3, 2],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, k + 2)
  ]
]

const pieces: ReadonlyArray<Row> = [
  [
    "torch.cat((x, x), 1)",
    [y("torch.cat", [tuple(x, x), 1])],
    [2, 6, 4],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j % 3, k)
  ],
  [
    "torch.cat((x, x[..., :1]), -1)",
    [partOf(x, tuple(ellipsis, slice(0, 1)), "front"), y("torch.cat", [tuple(x, ref("front")), -1])],
    [2, 3, 5],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, k % 4)
  ],
  [
    "torch.stack((x, x), 1)",
    [y("torch.stack", [tuple(x, x), 1])],
    [2, 2, 3, 4],
    ({ x }, i = 0, _ = 0, j = 0, k = 0) => x(i, j, k)
  ],
  [
    "torch.stack((x, x), -1)",
    [y("torch.stack", [tuple(x, x), -1])],
    [2, 3, 4, 2],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, k)
  ],
  ["x.flip(0, 2)", [y("flip", [x, 0, 2])], [2, 3, 4], ({ x }, i = 0, j = 0, k = 0) => x(1 - i, j, 3 - k)],
  ["x.roll(1, 2)", [y("roll", [x, 1, 2])], [2, 3, 4], ({ x }, i = 0, j = 0, k = 0) => x(i, j, (k + 3) % 4)],
  [
    "x.roll(-2), of all elements",
    [y("roll", [x, -2])],
    [2, 3, 4],
    ({ m }, i = 0, j = 0, k = 0) => m(0, (12 * i + 4 * j + k + 2) % 24)
  ],
  [
    "x.diff(dim=1)",
    [y("diff", [x], { dim: 1 })],
    [2, 2, 4],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j + 1, k) - x(i, j, k)
  ],
  [
    "x.diff(2)",
    [y("diff", [x, 2])],
    [2, 3, 2],
    ({ x }, i = 0, j = 0, k = 0) => x(i, j, k + 2) - 2 * x(i, j, k + 1) + x(i, j, k)
  ],
  ["m.tril()", [y("tril", [m])], [4, 6], ({ m }, row = 0, column = 0) => column <= row ? m(row, column) : 0],
  ["m.triu(1)", [y("triu", [m, 1])], [4, 6], ({ m }, row = 0, column = 0) => column - row >= 1 ? m(row, column) : 0]
]

const reductions: ReadonlyArray<Row> = [
  ["x.sum(1)", [y("sum", [x, 1])], [2, 4], (all, i, k) => sum(second(all, i, k))],
  ["x.sum((0, -1))", [y("sum", [x, tuple(0, -1)])], [3], (all, j) => sum([...last(all, 0, j), ...last(all, 1, j)])],
  [
    "x.sum(1, keepdim=True)",
    [y("sum", [x, 1], { keepdim: true })],
    [2, 1, 4],
    (all, i, _, k) => sum(second(all, i, k))
  ],
  ["x.mean(0)", [y("mean", [x, 0])], [3, 4], (all, j, k) => average(first(all, j, k))],
  ["x.prod(1)", [y("prod", [x, 1])], [2, 4], (all, i, k) => product(second(all, i, k))],
  ["x.var(2)", [y("var", [x, 2])], [2, 3], (all, i, j) => variance(last(all, i, j), 1)],
  [
    "x.var(2, correction=2)",
    [y("var", [x, 2], { correction: 2 })],
    [2, 3],
    (all, i, j) => variance(last(all, i, j), 2)
  ],
  ["x.var(1, unbiased=False)", [y("var", [x, 1, false])], [2, 4], (all, i, k) => variance(second(all, i, k), 0)],
  ["x.std(False)", [y("std", [x, false])], [], (all) => Math.sqrt(variance(every(all), 0))],
  ["x.logsumexp(1)", [y("logsumexp", [x, 1])], [2, 4], (all, i, k) => logSumExp(second(all, i, k))],
  [
    "x.softmax(1)",
    [y("softmax", [x, 1])],
    [2, 3, 4],
    (all, i = 0, j = 0, k = 0) => Math.exp(all.x(i, j, k) - logSumExp(second(all, i, k)))
  ],
  [
    "x.log_softmax(-1)",
    [y("log_softmax", [x, -1])],
    [2, 3, 4],
    (all, i = 0, j = 0, k = 0) => all.x(i, j, k) - logSumExp(last(all, i, j))
  ],
  ["x.cumsum(1)", [y("cumsum", [x, 1])], [2, 3, 4], (all, i, j = 0, k) => sum(second(all, i, k).slice(0, j + 1))],
  [
    "(x > 1).any(1)",
    [call("large", "operator.gt", [x, 1]), y("any", [ref("large"), 1])],
    [2, 4],
    (all, i, k) => Number(second(all, i, k).some((value) => value > 1))
  ],
  [
    "(x < 1).all(2)",
    [call("small", "operator.lt", [x, 1]), y("all", [ref("small"), 2])],
    [2, 3],
    (all, i, j) => Number(last(all, i, j).every((value) => value < 1))
  ],
  [
    "(x > 0).count_nonzero(1)",
    [call("positive", "operator.gt", [x, 0]), y("count_nonzero", [ref("positive"), 1])],
    [2, 4],
    (all, i, k) => second(all, i, k).filter((value) => value > 0).length
  ],
  ["x.norm(dim=1)", [y("norm", [x], { dim: 1 })], [2, 4], (all, i, k) => norm(second(all, i, k), 2)],
  ["x.norm(3, -1)", [y("norm", [x, 3, -1])], [2, 3], (all, i, j) => norm(last(all, i, j), 3)],
  ["x.norm(1)", [y("norm", [x, 1])], [], (all) => norm(every(all), 1)],
  [
    "x.norm(inf, 1)",
    [y("norm", [x, { float: "inf" }, 1])],
    [2, 4],
    (all, i, k) => Math.max(...second(all, i, k).map(Math.abs))
  ],
  [
    "x.norm(-inf, 1)",
    [y("norm", [x, { float: "-inf" }, 1])],
    [2, 4],
    (all, i, k) => Math.min(...second(all, i, k).map(Math.abs))
  ],
  [
    "torch.relu(x).norm(0, 1)",
    [call("some", "torch.relu", [x]), y("norm", [ref("some"), 0, 1])],
    [2, 4],
    (all, i, k) => second(all, i, k).filter((value) => value > 0).length
  ]
]

/** The values and indices of an operation that returns both. */
const valuesOf = (both: LossGraph.Node) => [both, partOf(ref("both"), 0)]
const placesOf = (both: LossGraph.Node) => [both, partOf(ref("both"), 1)]
const both = (target: string, ...args: ReadonlyArray<Json>) => method("both", target, [x, ...args])

const orders: ReadonlyArray<Row> = [
  ["x.max(1).values", valuesOf(both("max", 1)), [2, 4], (all, i, k) => Math.max(...second(all, i, k))],
  ["x.max(1, True).indices", placesOf(both("max", 1, true)), [2, 1, 4], (all, i, _, k) => {
    const values = second(all, i, k)
    return values.indexOf(Math.max(...values))
  }],
  ["x.amax((0, 2))", [y("amax", [x, tuple(0, 2)])], [3], (all, j) => Math.max(...last(all, 0, j), ...last(all, 1, j))],
  ["x.amin(1)", [y("amin", [x, 1])], [2, 4], (all, i, k) => Math.min(...second(all, i, k))],
  ["x.min()", [y("min", [x])], [], (all) => Math.min(...every(all))],
  ["x.argmax(2)", [y("argmax", [x, 2])], [2, 3], (all, i, j) => {
    const values = last(all, i, j)
    return values.indexOf(Math.max(...values))
  }],
  ["x.argmin()", [y("argmin", [x])], [], (all) => every(all).indexOf(Math.min(...every(all)))],
  ["x.sort(1).values", valuesOf(both("sort", 1)), [2, 3, 4], (all, i, j = 0, k) => nth(second(all, i, k), j)],
  [
    "x.sort(1, True).values",
    valuesOf(both("sort", 1, true)),
    [2, 3, 4],
    (all, i, j = 0, k) => nth(second(all, i, k), 2 - j)
  ],
  [
    "x.sort().indices",
    placesOf(both("sort")),
    [2, 3, 4],
    (all, i, j, k = 0) => last(all, i, j).indexOf(nth(last(all, i, j), k))
  ],
  ["x.topk(2, 1).values", valuesOf(both("topk", 2, 1)), [2, 2, 4], (all, i, j = 0, k) => nth(second(all, i, k), 2 - j)],
  [
    "x.topk(1, -1, False).indices",
    placesOf(both("topk", 1, -1, false)),
    [2, 3, 1],
    (all, i, j) => last(all, i, j).indexOf(Math.min(...last(all, i, j)))
  ],
  ["x.kthvalue(2, 1).values", valuesOf(both("kthvalue", 2, 1)), [2, 4], (all, i, k) => nth(second(all, i, k), 1)],
  [
    "x.kthvalue(3).indices",
    placesOf(both("kthvalue", 3)),
    [2, 3],
    (all, i, j) => last(all, i, j).indexOf(nth(last(all, i, j), 2))
  ],
  ["x.median(1).values", valuesOf(both("median", 1)), [2, 4], (all, i, k) => nth(second(all, i, k), 1)],
  [
    "x.median(-1, True).values, the lower of the two",
    valuesOf(both("median", -1, true)),
    [2, 3, 1],
    (all, i, j) => nth(last(all, i, j), 1)
  ],
  ["x.median()", [y("median", [x])], [], (all) => nth(every(all), 11)],
  [
    "x.quantile(0.3, 2)",
    [y("quantile", [x, 0.3, 2])],
    [2, 3],
    (all, i, j) => 0.1 * nth(last(all, i, j), 0) + 0.9 * nth(last(all, i, j), 1)
  ],
  [
    "x.cummax(1).values",
    valuesOf(both("cummax", 1)),
    [2, 3, 4],
    (all, i, j = 0, k) => Math.max(...second(all, i, k).slice(0, j + 1))
  ],
  ["x.cummin(2).indices", placesOf(both("cummin", 2)), [2, 3, 4], (all, i, j, k = 0) => {
    const before = last(all, i, j).slice(0, k + 1)
    return before.indexOf(Math.min(...before))
  }]
]

const wide = method("wide", "view", [ref("x"), 6, 4])

const products: ReadonlyArray<Row> = [
  [
    "m @ x.view(6, 4)",
    [wide, y("operator.matmul", [m, ref("wide")])],
    [4, 4],
    ({ m, x }, row = 0, column = 0) => sum(upTo(6).map((at) => m(row, at) * x(0, at, column)))
  ],
  [
    "torch.mv(m, m[1])",
    [partOf(m, 1, "vector"), y("torch.mv", [m, ref("vector")])],
    [4],
    ({ m }, row = 0) => sum(upTo(6).map((at) => m(row, at) * m(1, at)))
  ],
  ["m[:, 1] @ m", [partOf(m, tuple(all, 1), "vector"), y("operator.matmul", [ref("vector"), m])], [6], (
    { m },
    column = 0
  ) => sum(upTo(4).map((at) => m(at, 1) * m(at, column)))],
  [
    "torch.dot(m[0], m[2])",
    [partOf(m, 0, "left"), partOf(m, 2, "right"), y("torch.dot", [ref("left"), ref("right")])],
    [],
    (
      { m }
    ) => sum(upTo(6).map((at) => m(0, at) * m(2, at)))
  ],
  [
    "torch.outer(m[:, 0], m[1])",
    [partOf(m, tuple(all, 0), "left"), partOf(m, 1, "right"), y("torch.outer", [ref("left"), ref("right")])],
    [4, 6],
    ({ m }, row = 0, column = 0) => m(row, 0) * m(1, column)
  ]
]

/** 24 distinct numbers around 0, no two of which are close together. */
const values = upTo(24).map((at) => (at * 7 % 24 - 11.6) / 8)

const elementsOf = (values: ReadonlyArray<number>): Elements => ({
  x: (i, j, k) => values[12 * i + 4 * j + k] ?? NaN,
  m: (row, column) => values[6 * row + column] ?? NaN
})

/** All positions of a shape; the last dimension varies fastest. */
const placesOfShape = ([length, ...rest]: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> =>
  length === undefined ? [[]] : upTo(length).flatMap((at) => placesOfShape(rest).map((place) => [at, ...place]))

/** A distinct weight for each element of a result. */
const weightOf = (at: number) => Math.cos(at) + 2

const closeTo = (found: number, expected: number, tolerance: number, what: string) =>
  assert.isAtMost(Math.abs(found - expected), tolerance, `${what}: ${found}, expected ${expected}`)

const step = 1e-5

describe.each([
  ["shapes", shapes],
  ["indices", indices],
  ["pieces", pieces],
  ["reductions", reductions],
  ["orders", orders],
  ["products", products]
])("%s", (_, rows) => {
  it.each(rows)("%s", (_, nodes, shape, element) => {
    const places = placesOfShape(shape)
    const weights = places.map((_, at) => weightOf(at))
    const found = Result.getOrThrow(Traced.evaluate(
      Traced.sumOfY(
        { logprobs: values, weights },
        method("x", "view", [ref("logprobs"), 2, 3, 4]),
        method("m", "view", [ref("logprobs"), 4, 6]),
        ...nodes.map((node) => node.name === "y" ? { ...node, name: "result" } : node),
        method("shaped", "view", [ref("weights"), tuple(...shape)]),
        call("y", "operator.mul", [ref("result"), ref("shaped")])
      ),
      { logprobs: values, weights }
    ))
    const expected = (values: ReadonlyArray<number>) =>
      sum(places.map((place, at) => weightOf(at) * element(elementsOf(values), ...place)))
    closeTo(found.loss, expected(values), 1e-12 * (1 + Math.abs(expected(values))), "sum")
    values.forEach((value, at) => {
      const moved = (by: number) => expected(values.with(at, value + by))
      const slope = (moved(step) - moved(-step)) / (2 * step)
      closeTo(found.gradient[at] ?? NaN, slope, 1e-7 * (1 + Math.abs(slope)), `slope ${at}`)
    })
  })
})
