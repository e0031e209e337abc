import type { LossGraph } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/tinker/server/graph/Interpreter"
import * as RealFunctions from "@effect-rl/tinker/server/graph/RealFunctions"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

/** The sum of a function of the inputs. */
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

/** Within the domain of every function. */
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

describe("The gradient of a real function is the slope of its values:", () => {
  it.each(Object.keys(RealFunctions.shared).filter((name) => !ofTwo.includes(name)))("%s", (name) => {
    assertSlopes(sumOf(`torch.${name}`, ["logprobs"]))
  })

  it.each(Object.keys(RealFunctions.functions))("%s", (name) => assertSlopes(sumOf(name, ["logprobs"])))

  it.each(ofTwo)("%s, by each of its arguments", (name) => {
    assertSlopes(sumOf(`torch.${name}`, ["logprobs", "bound"]))
    assertSlopes(sumOf(`torch.${name}`, ["bound", "logprobs"]))
  })
})
