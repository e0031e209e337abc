import { LossGraph, LossProgram } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/tinker/server/graph/Interpreter"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as TrainingVectors from "../../../../core/test/model/TrainingVectors.ts"
import * as RecordedLines from "../../../../core/test/RecordedLines.ts"

type Nested = number | ReadonlyArray<Nested>
const Nested: Schema.Codec<Nested> = Schema.Union([
  Schema.Number,
  Schema.Array(Schema.suspend((): Schema.Codec<Nested> => Nested))
])

const Case = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    name: Schema.optionalKey(Schema.String),
    body: Schema.optionalKey(Schema.String),
    inputs: Schema.optionalKey(Schema.Array(LossGraph.Input)),
    input_ranks: Schema.optionalKey(Schema.Record(Schema.String, Schema.Literals([0, 1, 2]))),
    graph: Schema.optionalKey(LossGraph.Graph),
    datums: Schema.optionalKey(Schema.Array(Schema.Record(Schema.String, Nested)))
  }),
  output: Schema.Struct({
    graph: Schema.optionalKey(LossGraph.Graph),
    loss: Schema.optionalKey(Schema.Number),
    loss_sum: Schema.optionalKey(Schema.Number),
    grad: Schema.optionalKey(Schema.Array(Schema.NullOr(Nested))),
    cross_entropy_weights: Schema.optionalKey(Schema.Array(Nested)),
    metrics: Schema.optionalKey(Schema.Record(Schema.String, Schema.Number))
  })
})

const Refused = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["invalid", "operation"]),
  output: Schema.Union([Schema.Struct({ accepted: Schema.Literal(false) }), Schema.Struct({ error: Schema.String })])
})

const Request = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("request"),
  output: Schema.Struct({ body: LossGraph.LossGraph, python: Schema.String })
})

const DatumCheck = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("datum_check"),
  input: Schema.Struct({
    case: Schema.String,
    inputs: Schema.Array(LossGraph.Input),
    datums: Schema.Array(
      Schema.Record(Schema.String, Schema.Struct({ shape: Schema.NullOr(Schema.Array(Schema.Int)) }))
    )
  }),
  output: Schema.Struct({ accepted: Schema.Boolean })
})

const lines = TrainingVectors.lines("graphs.jsonl")
const requests = lines.filter((line) => Schema.is(Request)(line))
const checks = lines.filter((line) => Schema.is(DatumCheck)(line))

const draws = Schema.Struct({ input: Schema.Struct({ body: Schema.String.check(Schema.isPattern(/rand_like/)) }) })

/** The reason why a graph is not executed; undefined if it is. */
const reasonOf = (line: unknown): string | undefined => {
  if (Schema.is(Refused)(line)) return "the SDK refuses to trace it, and sends no graph"
  if (Schema.is(Request)(line)) return "a request without data, compiled alone"
  if (Schema.is(DatumCheck)(line)) return "shapes of a datum without data, checked alone"
  return Schema.is(draws)(line) ? "draws random numbers, and is refused" : undefined
}

/** The cases that have a graph and data for it. */
const executed = lines.filter((line) => reasonOf(line) === undefined).map((line) =>
  Schema.decodeUnknownSync(Case)(line)
)

const shapeOf = (value: Nested): ReadonlyArray<number> =>
  typeof value === "number" ? [] : [value.length, ...(value[0] === undefined ? [] : shapeOf(value[0]))]

const flat = (value: Nested): ReadonlyArray<number> => typeof value === "number" ? [value] : value.flatMap(flat)

const valuesOf = (datum: Readonly<Record<string, Nested>>) =>
  Object.fromEntries(
    Object.entries(datum).map(([name, value]) => [name, { data: flat(value), shape: shapeOf(value) }])
  )

const graphOf = ({ input, output }: typeof Case.Type): LossGraph.LossGraph => ({
  name: input.name ?? "recorded",
  inputs: input.inputs
    ?? Object.entries(input.input_ranks ?? { logprobs: 1, a: 1 } as const).map(([name, rank]) => ({ name, rank })),
  graph: input.graph ?? output.graph ?? { format: 1, nodes: [] }
})

const placeholder = (name: string) => ({ op: "placeholder", name, target: name, args: [], kwargs: {} }) as const
const output = (...args: ReadonlyArray<Schema.Json>) =>
  ({ op: "output", name: "output", target: "output", args, kwargs: {} }) as const
const result = output({ tuple: [{ ref: "sum_1" }, { dict: {} }] })
const node = (
  op: LossGraph.Node["op"],
  name: string,
  target: string,
  args: ReadonlyArray<Schema.Json>,
  kwargs: Readonly<Record<string, Schema.Json>> = {}
): LossGraph.Node => ({ op, name, target, args, kwargs })

const logprobs = placeholder("logprobs")
const sum = node("call_method", "sum_1", "sum", [{ ref: "logprobs" }])
/** Whether the loss of each datum depends on the log-probabilities. */
const expectedToDepend = ({ output }: typeof Case.Type, count: number): ReadonlyArray<boolean> =>
  output.grad?.map((gradient) => gradient !== null) ?? Array.from({ length: count }, () => true)

/** A graph that reads only the log-probabilities. */
const sumOfLogprobs = (inputs: ReadonlyArray<LossGraph.Input>): LossGraph.LossGraph => ({
  name: "sum",
  inputs,
  graph: {
    format: 1,
    nodes: [
      ...inputs.map(({ name }) => placeholder(name)),
      sum,
      output({ tuple: [{ ref: "sum_1" }, { dict: {} }] })
    ]
  }
})

describe("graphs that the official SDK traced", () => {
  it("are executed, or left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(lines, reasonOf),
      RecordedLines.accountOf("core/training/graphs.jsonl.gz")
    )
  })

  it.each(requests)("$id compiles", ({ output: { body } }) => {
    assert.strictEqual(Result.getOrThrow(Interpreter.compile(body)).source.name, body.name)
  })

  it.each(checks)("$id: $input.case", ({ input, output }) => {
    const { datums, inputs } = input
    const compiled = Result.getOrThrow(Interpreter.compile(sumOfLogprobs(inputs)))
    for (const datum of datums) {
      const values = Object.entries(datum).map(([name, { shape }]) => {
        const known = shape ?? [2]
        const data = new Float64Array(known.reduce((size, length) => size * length, 1)).fill(-1)
        return [name === "target_tokens" ? "logprobs" : name, { data, shape: known }] as const
      })
      const evaluated = Interpreter.evaluate(compiled, Object.fromEntries(values))
      assert.strictEqual(Result.isSuccess(evaluated), output.accepted)
    }
  })

  for (const row of executed) {
    it(`${row.id}: ${row.input.body ?? row.input.name ?? "accepted"}`, () => {
      const { input, output } = row
      const tolerance = output.loss === undefined ? 2e-6 : 1e-9
      const compiled = Result.getOrThrow(Interpreter.compile(graphOf(row)))
      const data = (input.datums ?? []).map(valuesOf)
      const evaluations = data.map((inputs) => Result.getOrThrow(Interpreter.evaluate(compiled, inputs)))
      const program = Result.getOrUndefined(LossProgram.compile(graphOf(row)))
      const together = program === undefined ? [] : Result.getOrElse(LossProgram.evaluateAll(program, data), () => [])
      together.forEach((found, index) => {
        const { gradient = [], loss = NaN } = evaluations[index] ?? {}
        assert.isTrue(TrainingVectors.isClose(found.loss, loss, 1e-12))
        gradient.forEach((slope, at) => assert.isTrue(TrainingVectors.isClose(found.gradient[at] ?? NaN, slope, 1e-12)))
      })
      const loss = evaluations.reduce((sum, evaluation) => sum + evaluation.loss, 0)
      const expected = output.loss ?? output.loss_sum ?? NaN
      assert.isTrue(TrainingVectors.isClose(loss, expected, tolerance), `loss ${loss}, expected ${expected}`)
      assert.deepStrictEqual(evaluations.map(({ hasGradient }) => hasGradient), expectedToDepend(row, data.length))
      const expectedGradients = output.grad?.map((gradient) => gradient === null ? [] : flat(gradient))
        ?? output.cross_entropy_weights?.map((weights) => flat(weights).map((weight) => -weight)) ?? []
      expectedGradients.forEach((gradient, index) =>
        gradient.forEach((slope, at) => {
          const found = evaluations[index]?.gradient[at] ?? NaN
          assert.isTrue(
            TrainingVectors.isClose(found, slope, tolerance),
            `gradient [${index}][${at}] ${found}, ${slope}`
          )
        })
      )
      for (const [name, value] of Object.entries(output.metrics ?? {})) {
        const found = LossGraph.combineMetrics(evaluations)[name] ?? NaN
        assert.isTrue(TrainingVectors.isClose(found, value, 2e-6), `${name} ${found}, expected ${value}`)
      }
    })
  }
})

const sumOf = (name: string) => node("call_method", "sum_1", "sum", [{ ref: name }])

const graph = (
  nodes: ReadonlyArray<LossGraph.Node>,
  inputs: ReadonlyArray<LossGraph.Input> = [{ name: "logprobs", rank: 1 }]
): LossGraph.LossGraph => ({ name: "loss", inputs, graph: { format: 1, nodes } })

const refusalOf = (source: LossGraph.LossGraph) => {
  const evaluated = Result.flatMap(Interpreter.compile(source), (compiled) =>
    Interpreter.evaluate(compiled, {
      logprobs: { data: [-1, -2, -3], shape: [3] },
      weights: { data: [1, 2], shape: [2] },
      temperature: { data: [1], shape: [1] }
    }))
  return Result.isFailure(evaluated) ? evaluated.failure.message : "accepted"
}

const applied = (target: string, args: ReadonlyArray<Schema.Json>, kwargs?: Readonly<Record<string, Schema.Json>>) =>
  graph([logprobs, node("call_function", "x", target, args, kwargs), sumOf("x"), result])

const invalid: ReadonlyArray<readonly [title: string, source: LossGraph.LossGraph, message: string]> = [
  ["a function outside of torch", applied("os.system", ["ls"]), "x: os.system is not among the operations"],
  ["an unknown torch function", applied("torch.load", ["file"]), "x: torch.load is not among the operations"],
  ["random numbers", applied("torch.rand_like", [{ ref: "logprobs" }]), "x: torch.rand_like is not among"],
  [
    "a method that leaves torch",
    graph([logprobs, node("call_method", "x", "item", [{ ref: "logprobs" }]), sumOf("x"), result]),
    "x: .item() is not among the operations"
  ],
  [
    "backward",
    graph([logprobs, sum, node("call_method", "x", "backward", [{ ref: "sum_1" }]), result]),
    "x: .backward() is not among the operations"
  ],
  [
    "a change in place",
    graph([logprobs, node("call_method", "x", "mul_", [{ ref: "logprobs" }, 2]), sumOf("x"), result]),
    "x: .mul_() is not among the operations"
  ],
  [
    "a value that is read after it was changed in place",
    graph([logprobs, node("call_function", "x", "operator.iadd", [{ ref: "logprobs" }, 1]), sum, result]),
    "sum_1: reads logprobs after x has changed it in place"
  ],
  [
    "a module",
    graph([logprobs, node("call_module", "x", "linear", []), sum, result]),
    "x: a node cannot be a call_module"
  ],
  [
    "a captured tensor",
    graph([logprobs, node("get_attr", "x", "_tensor_constant0", []), sum, result]),
    "x: a node cannot be a get_attr"
  ],
  [
    "a name that is not defined",
    applied("torch.exp", [{ ref: "nothing" }]),
    `x: reads "nothing", expected the name of an earlier node`
  ],
  [
    "a node that reads itself",
    applied("torch.exp", [{ ref: "x" }]),
    `x: reads "x", expected the name of an earlier node`
  ],
  ["two nodes of one name", graph([logprobs, sum, sum, result]), "sum_1: has the name of an earlier node"],
  ["no output", graph([logprobs, sum]), "graph: has no output"],
  [
    "an output without metrics",
    graph([logprobs, sum, output({ ref: "sum_1" })]),
    "output: the output is not (loss, metrics)"
  ],
  [
    "metrics that are not a dict",
    graph([logprobs, sum, output({ tuple: [{ ref: "sum_1" }, { ref: "sum_1" }] })]),
    "output: the metrics are not a dict"
  ],
  [
    "a metric that is a number",
    graph([logprobs, sum, output({ tuple: [{ ref: "sum_1" }, { dict: { "custom/kl:sum": 1 } }] })]),
    "output: metric custom/kl:sum is not a tensor"
  ],
  [
    "a metric per token",
    graph([logprobs, sum, output({ tuple: [{ ref: "sum_1" }, { dict: { "custom/kl:sum": { ref: "logprobs" } } }] })]),
    "output: loss: metric custom/kl:sum is not a scalar tensor"
  ],
  [
    "a metric that is not defined",
    graph([logprobs, sum, output({ tuple: [{ ref: "sum_1" }, { dict: { "custom/kl:sum": { ref: "x" } } }] })]),
    `output: reads "x", expected the name of an earlier node`
  ],
  [
    "three outputs",
    graph([logprobs, sum, output({ tuple: [{ ref: "sum_1" }, { dict: {} }, { ref: "sum_1" }] })]),
    "output: the output is not (loss, metrics)"
  ],
  [
    "two inputs of one name",
    graph([logprobs], [{ name: "logprobs", rank: 1 }, { name: "a", rank: 1 }, { name: "a", rank: 1 }]),
    "graph: two inputs have the same name"
  ],
  [
    "a node after the output",
    graph([logprobs, sum, result, sumOf("logprobs")]),
    "sum_1: follows the output"
  ],
  [
    "an input that follows an operation",
    graph([logprobs, sum, placeholder("a"), result], [{ name: "logprobs", rank: 1 }, { name: "a", rank: 1 }]),
    "a: an input that follows an operation"
  ],
  [
    "a metric without a reduction",
    graph([logprobs, sum, output({ tuple: [{ ref: "sum_1" }, { dict: { "custom/kl": { ref: "sum_1" } } }] })]),
    `output: metric "custom/kl", expected custom/<name>:sum`
  ],
  [
    "a loss per token",
    graph([logprobs, output({ tuple: [{ ref: "logprobs" }, { dict: {} }] })]),
    "output: loss: the loss is not a scalar tensor"
  ],
  [
    "a first input that is not logprobs",
    graph([placeholder("weights"), sum, result], [{ name: "weights", rank: 1 }]),
    "graph: the first input is weights, expected logprobs"
  ],
  [
    "logprobs of rank 0",
    graph([logprobs, sum, result], [{ name: "logprobs", rank: 0 }]),
    "graph: logprobs has rank 0, expected 1 or 2"
  ],
  [
    "too many inputs",
    graph([logprobs], [
      { name: "logprobs", rank: 1 },
      ...Array.from({ length: 16 }, (_, i): LossGraph.Input => ({ name: `x${i}`, rank: 1 }))
    ]),
    "graph: 17 inputs, expected at most 16"
  ],
  [
    "an input's name in capitals",
    graph([logprobs], [{ name: "logprobs", rank: 1 }, { name: "Weights", rank: 1 }]),
    `graph: an input is called "Weights"`
  ],
  [
    "an input without a placeholder",
    graph([logprobs, sum, result], [{ name: "logprobs", rank: 1 }, { name: "weights", rank: 1 }]),
    "graph: not every declared input has a placeholder"
  ],
  [
    "an input that the datum lacks",
    graph([logprobs, placeholder("mask"), sum, result], [{ name: "logprobs", rank: 1 }, { name: "mask", rank: 1 }]),
    "mask: the datum has no such input"
  ],
  [
    "an input of another rank",
    graph([logprobs, placeholder("temperature"), sum, result], [{ name: "logprobs", rank: 1 }, {
      name: "temperature",
      rank: 0
    }]),
    "temperature: has rank 1, declared with rank 0"
  ],
  [
    "shapes that do not go together",
    graph(
      [
        logprobs,
        placeholder("weights"),
        node("call_function", "x", "operator.mul", [{ ref: "logprobs" }, { ref: "weights" }]),
        sumOf("x"),
        result
      ],
      [{ name: "logprobs", rank: 1 }, { name: "weights", rank: 1 }]
    ),
    "x: operator.mul: shapes [3] and [2] do not go together"
  ],
  [
    "an argument of another type",
    applied("torch.exp", ["text"]),
    `x: torch.exp: argument input is "text", expected a tensor`
  ],
  [
    "an argument that is not supported",
    applied("torch.sum", [{ ref: "logprobs" }], { out: { ref: "logprobs" } }),
    "x: torch.sum: argument out is not supported"
  ],
  [
    "an argument outside of the format",
    applied("torch.exp", [{ code: "x" }]),
    `x: an argument is {"code": …}, which is not part of the format`
  ],
  [
    "a dimension that is not there",
    applied("torch.sum", [{ ref: "logprobs" }], { dim: 3 }),
    "x: torch.sum: dimension 3 of a tensor of 1 dimensions"
  ],
  [
    "an index out of range",
    applied("operator.getitem", [{ ref: "logprobs" }, 7]),
    "x: operator.getitem: index 7 of a dimension of 3"
  ],
  [
    "a tensor that is too large",
    applied("torch.zeros", [1e12]),
    "x: torch.zeros: a tensor of shape [1000000000000] has more than 8388608 elements"
  ]
]

describe("a graph is refused with the reason for", () => {
  for (const [title, source, message] of invalid) {
    it(title, () => {
      assert.include(refusalOf(source), message)
    })
  }
})

it("whose loss does not depend on the log-probabilities is reported as such", () => {
  const detached = graph([logprobs, node("call_method", "x", "detach", [{ ref: "logprobs" }]), sumOf("x"), result])
  const compiled = Result.getOrThrow(Interpreter.compile(detached))
  const evaluation = Result.getOrThrow(Interpreter.evaluate(compiled, { logprobs: { data: [-1, -2], shape: [2] } }))
  assert.deepStrictEqual([evaluation.loss, evaluation.hasGradient, [...evaluation.gradient]], [-3, false, [0, 0]])
})
