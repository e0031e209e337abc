/** Validates a whole loss graph and prepares its nodes for execution. */
import type { LossGraph } from "@effect-rl/core/losses"
import { GraphRefusal } from "./GraphRefusal.ts"
import type { Operation, Value } from "./Value.ts"
import * as Whitelist from "./Whitelist.ts"

/** Maximum number of nodes in a graph. */
const maximumNodes = 4096

const maximumDepth = 8

/** Evaluates an argument by looking up its references among the values computed so far. */
export type Argument = (values: ReadonlyMap<string, Value>) => Value

export interface Step {
  readonly node: string
  /** The operation's name in messages: `torch.exp`, or `.exp()` for a method. */
  readonly title: string
  readonly operation: Operation
  readonly args: ReadonlyArray<Argument>
  readonly named: ReadonlyArray<readonly [string, Argument]>
}

export interface Compiled {
  readonly source: LossGraph.LossGraph
  readonly steps: ReadonlyArray<Step>
  readonly loss: string
  /** Metric names with the nodes that compute them. */
  readonly metrics: ReadonlyArray<readonly [name: string, node: string]>
}

const inputName = /^[a-z_][a-z0-9_]{0,63}$/
const metricName = /^custom\/[a-z0-9_./-]{1,64}:(sum|mean)$/
const maximumInputs = 16

const fail = (node: string, detail: string): never => {
  throw new GraphRefusal(node, detail)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const floats = new Map([["inf", Infinity], ["-inf", -Infinity], ["nan", NaN]])

/** The node being compiled, the names of earlier nodes, and a callback for each name that the node reads. */
interface Scope {
  readonly node: string
  readonly defined: ReadonlySet<string>
  readonly read: (name: string) => void
}

const reference = (scope: Scope, name: unknown): Argument => {
  if (typeof name !== "string" || !scope.defined.has(name)) {
    return fail(scope.node, `reads ${JSON.stringify(name)}, expected the name of an earlier node`)
  }
  scope.read(name)
  return (values) => values.get(name)
}

const list = (scope: Scope, values: ReadonlyArray<unknown>, depth: number): Argument => {
  const parts = values.map((value) => argument(scope, value, depth + 1))
  return (known) => parts.map((part) => part(known))
}

const bound = (scope: Scope, value: unknown, depth: number) => {
  const part = argument(scope, value, depth)
  return (known: ReadonlyMap<string, Value>) => {
    const found = part(known)
    if (found === null || found === undefined) return undefined
    return typeof found === "number" ? found : fail(scope.node, "a bound of a slice is not a whole number")
  }
}

const slice = (scope: Scope, bounds: ReadonlyArray<unknown>, depth: number): Argument => {
  const [start, stop, step] = [0, 1, 2].map((at) => bound(scope, bounds[at] ?? null, depth + 1))
  return (known) => ({ _tag: "Slice", bounds: [start?.(known), stop?.(known), step?.(known)] })
}

const tagged = (scope: Scope, tag: string, value: unknown, depth: number): Argument => {
  if (tag === "ref") return reference(scope, value)
  if (tag === "tuple" && Array.isArray(value)) return list(scope, value, depth)
  if (tag === "slice" && Array.isArray(value) && value.length === 3) return slice(scope, value, depth)
  if (tag === "ellipsis") return () => ({ _tag: "Ellipsis", name: "..." })
  const float = tag === "float" && typeof value === "string" ? floats.get(value) : undefined
  if (float !== undefined) return () => float
  if (
    (tag === "dtype" || tag === "device" || tag === "layout" || tag === "memory_format") && typeof value === "string"
  ) {
    return () => ({ _tag: tag, name: value })
  }
  return fail(scope.node, `an argument is {${JSON.stringify(tag)}: …}, which is not part of the format`)
}

const argument = (scope: Scope, value: unknown, depth: number): Argument => {
  if (depth > maximumDepth) fail(scope.node, `arguments are nested more than ${maximumDepth} deep`)
  if (value === null || typeof value === "number" || typeof value === "boolean" || typeof value === "string") {
    return () => value
  }
  if (Array.isArray(value)) return list(scope, value, depth)
  const entries = isObject(value) ? Object.entries(value) : []
  const [only] = entries
  return only !== undefined && entries.length === 1
    ? tagged(scope, only[0], only[1], depth)
    : fail(scope.node, "an argument is an object that is not part of the format")
}

const checkInputs = ({ graph, inputs }: LossGraph.LossGraph) => {
  if (graph.nodes.length > maximumNodes) fail("graph", `${graph.nodes.length} nodes, expected at most ${maximumNodes}`)
  if (inputs.length > maximumInputs) fail("graph", `${inputs.length} inputs, expected at most ${maximumInputs}`)
  const [first] = inputs
  if (first?.name !== "logprobs") fail("graph", `the first input is ${first?.name ?? "missing"}, expected logprobs`)
  if (first?.rank === 0) fail("graph", "logprobs has rank 0, expected 1 or 2")
  for (const { name } of inputs) {
    if (!inputName.test(name)) fail("graph", `an input is called ${JSON.stringify(name)}, expected ${inputName.source}`)
  }
  if (new Set(inputs.map(({ name }) => name)).size !== inputs.length) fail("graph", "two inputs have the same name")
}

/**
 * The arguments of a node. A list as the index becomes a tuple of one index, because `x[[0, 2]]` selects two elements,
 * whereas `x[0, 2]` selects one element by two dimensions.
 */
const argumentsOf = ({ args, target }: LossGraph.Node): LossGraph.Node["args"] => {
  const [x = null, index] = args
  return target === "operator.getitem" && Array.isArray(index) ? [x, { tuple: [index] }] : args
}

const step = (node: LossGraph.Node, scope: Scope, title: string): Step => {
  if (node.op !== "call_function" && node.op !== "call_method") return fail(node.name, `a node cannot be a ${node.op}`)
  const operation = Whitelist.find(node.op, node.target)
  if (operation === undefined) return fail(node.name, `${title} is not among the operations that this server computes`)
  return {
    node: node.name,
    title,
    operation,
    args: argumentsOf(node).map((value) => argument(scope, value, 0)),
    named: Object.entries(node.kwargs).map(([name, value]) => [name, argument(scope, value, 0)])
  }
}

const nodeRef = (value: unknown): string | undefined =>
  isObject(value) && typeof value["ref"] === "string" ? value["ref"] : undefined

/** The parts of an output `(loss, {metric: value})`. */
const outputOf = ({ args, name }: LossGraph.Node, defined: ReadonlySet<string>) => {
  const [output] = args
  const pair = Array.isArray(output)
    ? output
    : isObject(output) && Array.isArray(output["tuple"])
    ? output["tuple"]
    : []
  const loss = nodeRef(pair[0])
  if (pair.length !== 2 || loss === undefined) return fail(name, "the output is not (loss, metrics)")
  const found: unknown = pair[1]
  const metrics = isObject(found) && isObject(found["dict"]) ? found["dict"] : fail(name, "the metrics are not a dict")
  const nodes = Object.entries(metrics).map(([metric, value]): readonly [string, string] => {
    if (!metricName.test(metric)) {
      fail(name, `metric ${JSON.stringify(metric)}, expected custom/<name>:sum or custom/<name>:mean in lower case`)
    }
    return [metric, nodeRef(value) ?? fail(name, `metric ${metric} is not a tensor`)]
  })
  for (const ref of [loss, ...nodes.map(([, ref]) => ref)]) {
    if (!defined.has(ref)) fail(name, `reads ${JSON.stringify(ref)}, expected the name of an earlier node`)
  }
  return { loss, metrics: nodes }
}

/** Validates and prepares a graph. Throws a `GraphRefusal` if the graph is invalid or too large. */
export const compile = (source: LossGraph.LossGraph): Compiled => {
  checkInputs(source)
  const defined = new Set<string>()
  const changed = new Map<string, string>()
  const steps: Array<Step> = []
  const placeholders: Array<string> = []
  let output: ReturnType<typeof outputOf> | undefined
  for (const node of source.graph.nodes) {
    if (output !== undefined) fail(node.name, "follows the output")
    if (defined.has(node.name)) fail(node.name, "has the name of an earlier node")
    const title = node.op === "call_method" ? `.${node.target}()` : node.target
    const read = (name: string) => {
      const by = changed.get(name)
      if (by !== undefined) fail(node.name, `reads ${name} after ${by} has changed it in place`)
    }
    if (node.op === "output") output = outputOf(node, defined)
    else if (node.op === "placeholder") {
      if (steps.length > 0) fail(node.name, "an input that follows an operation")
      placeholders.push(node.name)
      if (node.target !== source.inputs[placeholders.length - 1]?.name || node.name !== node.target) {
        fail(node.name, "is not the declared input of its place")
      }
    } else {
      steps.push(step(node, { node: node.name, defined, read }, title))
      const operand = nodeRef(node.args[0])
      if (Whitelist.changesOperand(node.target) && operand !== undefined) changed.set(operand, node.name)
    }
    defined.add(node.name)
  }
  if (placeholders.length !== source.inputs.length) fail("graph", "not every declared input has a placeholder")
  if (output === undefined) return fail("graph", "has no output")
  return { source, steps, ...output }
}
