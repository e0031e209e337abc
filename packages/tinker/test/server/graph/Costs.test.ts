/** The count of numbers that graph operations read and create, which limits the work for client graphs. */
import type { LossGraph } from "@effect-rl/core/losses"
import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import * as Traced from "./Traced.ts"

const { call, method, ref } = Traced

const x = ref("logprobs")
const isAboveZero = call("mask", "operator.gt", [x, 0])
const matrix = method("m", "view", [x, -1, 8])
const m = ref("m")
const count = method("n", "numel", [x])
const plus = (other: string) => call("y", "operator.add", [x, ref(other)])
const values = call("y", "operator.getitem", [ref("both"), 0])
const part = (index: Schema.Json) => call("y", "operator.getitem", [x, index])

/** Operations with their sum and gradient: the cost per element, and the cost of 64 elements. */
const costs: ReadonlyArray<readonly [title: string, each: number, of64: number, ReadonlyArray<LossGraph.Node>]> = [
  ["x", 4, 451, [method("y", "clone", [x])]],
  ["-x", 8, 771, [call("y", "operator.neg", [x])]],
  ["x.sign(), which has no gradient", 6, 513, [method("y", "sign", [x])]],
  ["x + x", 16, 1283, [call("y", "operator.add", [x, x])]],
  ["x + 1", 12, 1027, [call("y", "operator.add", [x, 1])]],
  ["x.float()", 7, 708, [method("y", "float", [x])]],
  ["x.view(-1)", 11, 1027, [method("y", "view", [x, -1])]],
  ["x[1:]", 15, 1270, [part({ slice: [1, null, null] })]],
  ["x[x > 0], of no element", 17, 1603, [isAboveZero, part(ref("mask"))]],
  ["x.gather(0, zeros)", 14, 1283, [
    call("places", "torch.zeros_like", [x], { dtype: { dtype: "int64" } }),
    method("y", "gather", [x, 0, ref("places")])
  ]],
  ["torch.cat((x, x))", 45, 3523, [call("y", "torch.cat", [{ tuple: [x, x] }])]],
  ["torch.where(x > 0, x, 1)", 38, 3139, [isAboveZero, call("y", "torch.where", [ref("mask"), x, 1])]],
  ["x.flip(0)", 15, 1283, [method("y", "flip", [x, 0])]],
  ["x.roll(1, 0)", 15, 1283, [method("y", "roll", [x, 1, 0])]],
  ["x.diff()", 38, 2978, [method("y", "diff", [x])]],
  ["the lower triangle of rows of 8", 45, 3715, [matrix, method("y", "tril", [m])]],
  ["x + zeros", 14, 1283, [count, call("zeros", "torch.zeros", [ref("n")]), plus("zeros")]],
  ["x + arange", 13, 1219, [count, call("places", "torch.arange", [ref("n")]), plus("places")]],
  ["x.cumsum(0)", 17, 1351, [method("y", "cumsum", [x, 0])]],
  ["the products of rows of 8", 23.125, 1931, [matrix, method("y", "prod", [m, 1])]],
  ["x + x.any()", 18, 1479, [method("any", "any", [x]), plus("any")]],
  ["x.amax()", 60, 4816, [method("y", "amax", [x])]],
  ["the maxima of rows of 8", 17.5, 1699, [matrix, method("both", "max", [m, 1]), values]],
  ["x + x.argmax()", 16, 1347, [method("place", "argmax", [x]), plus("place")]],
  ["x.cummax(0)", 19, 1607, [method("both", "cummax", [x, 0]), values]],
  ["the medians of rows of 8", 33.5, 2723, [matrix, method("both", "median", [m, 1]), values]]
]

const evaluate = (length: number, nodes: ReadonlyArray<LossGraph.Node>, most?: number) => {
  const inputs = { logprobs: Array.from({ length }, (_, t) => -t - 1) }
  return Traced.evaluate(Traced.sumOfY(inputs, ...nodes), inputs, most)
}

const costOf = (length: number, nodes: ReadonlyArray<LossGraph.Node>) => Result.getOrThrow(evaluate(length, nodes)).cost

describe("the cost of a loss is the count of numbers that its operations and gradient read and create:", () => {
  it.each(costs)("%s, %d numbers per element", (_, each, of64, nodes) => {
    assert.strictEqual((costOf(2048, nodes) - costOf(1024, nodes)) / 1024, each)
    assert.strictEqual(costOf(64, nodes), of64)
  })

  it("sorting n elements costs 4 n ⌈log₂(n + 2)⌉ in addition to 33 n", () => {
    const sorted = (length: number) => costOf(length, [method("both", "sort", [x]), values])
    const found = [62, 63, 64, 1024].map((length) => sorted(length) - 33 * length - sorted(0))
    assert.deepStrictEqual(found, [4 * 62 * 6, 4 * 63 * 7, 4 * 64 * 7, 4 * 1024 * 11])
  })

  it.each(costs)(
    "%s is computed at exactly its limit, and refused if the limit is lower by one",
    (_, _each, of64, nodes) => {
      assert.isTrue(Result.isSuccess(evaluate(64, nodes, of64)))
      const refused = evaluate(64, nodes, of64 - 1)
      assert.include(
        Result.isFailure(refused) ? refused.failure.message : "accepted",
        `the values up to here take more than ${of64 - 1} numbers to compute: use smaller tensors`
      )
    }
  )
})
