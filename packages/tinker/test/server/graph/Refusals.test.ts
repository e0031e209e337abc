import type { LossGraph } from "@effect-rl/core/losses"
import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import * as Traced from "./Traced.ts"

const { call, method, ref } = Traced

type Json = Schema.Json

const x = ref("logprobs")
const inputs = { logprobs: [-1, -2, -3, -4, -5, -6] }

const y = (target: string, args: ReadonlyArray<Json>, kwargs?: Readonly<Record<string, Json>>) =>
  target.includes(".") ? call("y", target, args, kwargs) : method("y", target, args, kwargs)
const matrix = method("m", "view", [x, 2, 3])
const m = ref("m")
const cube = method("c", "view", [x, 1, 2, 3])
const mask = call("mask", "operator.gt", [x, 0])
const slice = (start: Json, stop: Json, step: Json = null) => ({ slice: [start, stop, step] })
const nested = (depth: number): Json => depth === 0 ? 0 : [nested(depth - 1)]

const refusals: ReadonlyArray<readonly [title: string, nodes: ReadonlyArray<LossGraph.Node>, message: string]> = [
  ["more dimensions than torch has", [
    y("torch.zeros", [{ tuple: Array.from({ length: 65 }, () => 1) }])
  ], "a tensor of 65 dimensions, expected at most 64"],
  ["a view into more dimensions than torch has", [
    y("view", [x, 6, ...Array.from({ length: 64 }, () => 1)])
  ], "a tensor of 65 dimensions, expected at most 64"],
  ["a view of another size", [y("view", [x, 4, -1])], "6 elements cannot have the shape [4, -1]"],
  ["a view with another count", [y("view", [x, 2, 2])], "6 elements cannot have the shape [2, 2]"],
  ["an expansion of a dimension with elements", [y("expand", [x, 1])], "shape [6] does not expand to [1]"],
  ["a permutation that leaves a dimension out", [matrix, y("permute", [m, 0, 0])], "dims [0, 0] of a tensor of 2"],
  ["a permutation of fewer dimensions", [matrix, y("permute", [m, 1])], "dims [1] of a tensor of 2 dimensions"],
  ["a dimension before the first", [matrix, y("sum", [m, -3])], "dimension -3 of a tensor of 2 dimensions"],
  ["a dimension after the last", [matrix, y("sum", [m, 2])], "dimension 2 of a tensor of 2 dimensions"],
  ["a dimension that is not whole", [matrix, y("sum", [m, 0.5])], "dimension 0.5 of a tensor of 2 dimensions"],
  ["a slice without a step", [y("operator.getitem", [x, slice(0, 4, 0)])], "a slice with step 0"],
  ["a slice between texts", [y("operator.getitem", [x, slice("a", 4)])], "a bound of a slice is not a whole number"],
  ["a place before the first", [y("operator.getitem", [x, -7])], "index -7 of a dimension of 6"],
  ["a place after the last", [y("operator.getitem", [x, 6])], "index 6 of a dimension of 6"],
  ["a place that is not whole", [y("operator.getitem", [x, 0.5])], "index 0.5 of a dimension of 6"],
  [
    "more places than dimensions",
    [y("operator.getitem", [x, { tuple: [0, 0] }])],
    "too many indices for a tensor of 1"
  ],
  ["two tensors as places", [
    matrix,
    call("places", "torch.arange", [2]),
    y("operator.getitem", [m, { tuple: [ref("places"), ref("places")] }])
  ], "more than one tensor as an index"],
  ["places that are not whole numbers", [y("operator.getitem", [x, x])], "an index that is not of whole numbers"],
  ["a mask after another index", [
    matrix,
    call("wide", "operator.gt", [m, 0]),
    call("row", "operator.getitem", [ref("wide"), 0]),
    y("operator.getitem", [m, { tuple: [slice(null, null), ref("row")] }])
  ], "a mask after other indices"],
  ["a mask of another length", [
    mask,
    call("short", "operator.getitem", [ref("mask"), slice(0, 3)]),
    y("operator.getitem", [x, ref("short")])
  ], "a mask of shape [3] for [6]"],
  ["a text as a place", [y("operator.getitem", [x, "first"])], "an index of this kind"],
  ["a list of texts as places", [y("operator.getitem", [x, ["first"]])], "an index that is no number"],
  [
    "a place of a number",
    [method("n", "numel", [x]), y("operator.getitem", [ref("n"), 0])],
    "that is no tensor or tuple"
  ],
  ["a piece after the last", [
    method("parts", "split", [x, 4]),
    y("operator.getitem", [ref("parts"), 2])
  ], "index 2 of a dimension of 2"],
  ["pieces of no element", [method("parts", "split", [x, 0]), y("operator.getitem", [ref("parts"), 0])], "pieces of 0"],
  ["pieces of half an element", [method("y", "split", [x, 0.5])], "pieces of 0.5"],
  ["no tensors put together", [y("torch.cat", [[]])], "no tensors to put together"],
  ["tensors of other shapes put together", [
    matrix,
    method("t", "t", [m]),
    y("torch.cat", [[m, ref("t")]])
  ], "tensors whose shapes do not match"],
  ["numbers put together", [y("torch.cat", [[x, 1]])], "expected a list of tensors"],
  ["the triangle of a vector", [y("tril", [x])], "no matrix"],
  ["the triangle of three dimensions", [cube, y("triu", [ref("c")])], "no matrix"],
  ["a matrix product with a number", [method("all", "sum", [x]), y("operator.matmul", [ref("all"), x])], "of 0 and 1"],
  ["a matrix product of a number", [method("all", "sum", [x]), y("operator.matmul", [x, ref("all")])], "of 1 and 0"],
  ["a matrix product of three dimensions", [cube, y("operator.matmul", [ref("c"), x])], "of 3 and 1 dimensions"],
  ["a matrix product by three dimensions", [cube, y("operator.matmul", [x, ref("c")])], "of 1 and 3 dimensions"],
  ["a matrix product of other lengths", [matrix, y("operator.matmul", [m, m])], "of 3 columns and 2 rows"],
  ["bounds without a bound", [y("clamp", [x])], "clamp without a bound"],
  [
    "the mean of whole numbers",
    [call("places", "torch.arange", [6]), y("mean", [ref("places")])],
    "that are not floats"
  ],
  ["bits of floats", [y("operator.and_", [x, 1])], "bitwise logic of numbers that are not whole"],
  ["bits beside floats", [call("places", "torch.arange", [6]), y("operator.or_", [ref("places"), x])], "bitwise logic"],
  ["more of the largest than there are", [method("y", "topk", [x, 7])], "k is 7, expected at most 6"],
  ["a rank after the last", [method("y", "kthvalue", [x, 7])], "k is 7 of 6"],
  ["the extreme of nothing", [
    call("nothing", "operator.getitem", [x, slice(0, 0)]),
    y("amax", [ref("nothing")])
  ], "the extreme of no element"],
  ["another interpolation", [y("quantile", [x, 0.5], { interpolation: "nearest" })], "only linear interpolation"],
  ["another reduction", [y("torch.nn.functional.mse_loss", [x, 0], { reduction: "batch" })], "reduction is batch"],
  ["weights of classes", [
    y("torch.nn.functional.binary_cross_entropy_with_logits", [x, 0], { pos_weight: x })
  ], "argument pos_weight is not supported"],
  ["an attribute that is not there", [call("y", "getattr", [x, "grad"])], "attribute grad is not supported"],
  ["more arguments than parameters", [y("torch.exp", [x, 1])], "2 arguments, expected at most 1"],
  ["an argument twice", [y("torch.exp", [x], { input: x })], "argument input is given twice"],
  ["a text instead of a number", [y("torch.add", [x, x], { alpha: "2" })], `argument alpha is "2", expected a number`],
  [
    "a text instead of a flag",
    [y("sum", [x, 0], { keepdim: "yes" })],
    "argument keepdim is \"yes\", expected true or false"
  ],
  ["a text instead of dimensions", [y("sum", [x, "all"])], `argument dim is "all", expected whole numbers`],
  [
    "a tensor instead of a text",
    [y("quantile", [x, 0.5], { interpolation: x })],
    "is a tensor of shape [6], expected text"
  ],
  ["a list instead of a tensor", [y("torch.exp", [[1, 2]])], "argument input is a list of 2, expected a tensor"],
  ["arguments that are nested too deep", [y("torch.zeros", [nested(9)])], "arguments are nested more than 8 deep"]
]

const outcomeOf = (nodes: ReadonlyArray<LossGraph.Node>) => {
  const found = Traced.evaluate(Traced.sumOfY(inputs, ...nodes), inputs)
  return Result.isFailure(found) ? found.failure.message : "accepted"
}

describe("an operation is refused with the reason for", () => {
  it.each(refusals)("%s", (_, nodes, message) => assert.include(outcomeOf(nodes), message))
})

describe("an operation is computed at its limit:", () => {
  it.each([
    ["as many dimensions as torch has", [y("view", [x, 6, ...Array.from({ length: 63 }, () => 1)])]],
    ["all of the largest", [method("both", "topk", [x, 6]), y("operator.getitem", [ref("both"), 0])]],
    ["the last rank", [method("both", "kthvalue", [x, 6]), y("operator.getitem", [ref("both"), 0])]],
    ["the first and the last place", [y("operator.getitem", [x, [0, -6, 5]])]],
    ["arguments that are not read", [y("torch.exp", [x], { out: null, requires_grad: false })]]
  ])("%s", (_, nodes) => assert.strictEqual(outcomeOf(nodes), "accepted"))

  it("arguments that are nested 8 levels deep", () => {
    assert.include(outcomeOf([y("torch.zeros", [nested(8)])]), "expected whole numbers")
  })

  it("4,096 nodes, but no more", () => {
    const copies = (count: number) => Array.from({ length: count }, (_, at) => method(`copy${at}`, "clone", [x]))
    const one = [method("y", "clone", [x])]
    const others = Traced.sumOfY(inputs, ...one).graph.nodes.length
    assert.strictEqual(outcomeOf([...copies(4096 - others), ...one]), "accepted")
    assert.include(outcomeOf([...copies(4097 - others), ...one]), "4097 nodes, expected at most 4096")
  })
})
