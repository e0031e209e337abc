/** Builds loss function graphs as the official SDK traces them, for tests. */
import type { LossGraph } from "@effect-rl/core/losses"
import * as Interpreter from "@effect-rl/tinker/server/graph/Interpreter"
import { Result, type Schema } from "effect"

type Json = Schema.Json
type Named = Readonly<Record<string, Json>>

const node = (
  op: LossGraph.Node["op"],
  name: string,
  target: string,
  args: ReadonlyArray<Json>,
  kwargs: Named = {}
): LossGraph.Node => ({ op, name, target, args, kwargs })

export const ref = (name: string) => ({ ref: name })

/** A call of a function: `torch.exp(x)`. */
export const call = (name: string, target: string, args: ReadonlyArray<Json>, kwargs?: Named) =>
  node("call_function", name, target, args, kwargs)

/** A call of a tensor's method: `x.exp()`. */
export const method = (name: string, target: string, args: ReadonlyArray<Json>, kwargs?: Named) =>
  node("call_method", name, target, args, kwargs)

/** `logprobs` and other one-dimensional inputs. */
export type Inputs = { readonly logprobs: ReadonlyArray<number> } & Readonly<Record<string, ReadonlyArray<number>>>

/** The sum of node `y`. */
export const sumOfY = (inputs: Inputs, ...nodes: ReadonlyArray<LossGraph.Node>): LossGraph.LossGraph => ({
  name: "loss",
  inputs: Object.keys(inputs).map((name) => ({ name, rank: 1 })),
  graph: {
    format: 1,
    nodes: [
      ...Object.keys(inputs).map((name) => node("placeholder", name, name, [])),
      ...nodes,
      method("total", "sum", [ref("y")]),
      node("output", "output", "output", [{ tuple: [ref("total"), { dict: {} }] }])
    ]
  }
})

/** The loss and gradient of a graph, or its refusal. */
export const evaluate = (graph: LossGraph.LossGraph, inputs: Inputs, most?: number) =>
  Result.flatMap(Interpreter.compile(graph), (compiled) => {
    const values = Object.entries(inputs).map(([name, data]) => [name, { data, shape: [data.length] }] as const)
    return Interpreter.evaluate(compiled, Object.fromEntries(values), most)
  })
