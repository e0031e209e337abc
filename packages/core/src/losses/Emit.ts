/** Converts a loss expression to a graph of torch operations. */
import type * as LossGraph from "./LossGraph.ts"
import type { Any, Operator } from "./LossTerm.ts"

type Argument = LossGraph.Node["args"][number]

interface Target {
  readonly op: "call_function" | "call_method"
  readonly target: string
}

const torch = (name: string): Target => ({ op: "call_function", target: `torch.${name}` })
const operator = (name: string): Target => ({ op: "call_function", target: `operator.${name}` })
const method = (name: string): Target => ({ op: "call_method", target: name })

const targets: Readonly<Record<Operator, Target>> = {
  neg: operator("neg"),
  exp: torch("exp"),
  log: torch("log"),
  sigmoid: torch("sigmoid"),
  logSigmoid: { op: "call_function", target: "torch._C._nn.log_sigmoid" },
  square: torch("square"),
  sqrt: torch("sqrt"),
  abs: torch("abs"),
  sign: torch("sign"),
  stopGradient: method("detach"),
  add: operator("add"),
  sub: operator("sub"),
  mul: operator("mul"),
  div: operator("truediv"),
  minimum: torch("minimum"),
  maximum: torch("maximum"),
  gt: operator("gt"),
  ge: operator("ge"),
  lt: operator("lt"),
  le: operator("le"),
  and: torch("logical_and"),
  or: torch("logical_or"),
  not: torch("logical_not"),
  where: torch("where")
}

const isRef = (argument: Argument | undefined): argument is { readonly ref: string } =>
  typeof argument === "object" && argument !== null && "ref" in argument

interface Emitter {
  readonly nodes: Array<LossGraph.Node>
  readonly apply: (target: Target, args: ReadonlyArray<Argument>, kwargs?: LossGraph.Node["kwargs"]) => Argument
  readonly known: Map<unknown, Argument>
}

const emitter = (): Emitter => {
  const nodes: Array<LossGraph.Node> = []
  const counts = new Map<string, number>()
  return {
    nodes,
    known: new Map(),
    apply: ({ op, target }, args, kwargs = {}) => {
      const base = target.slice(target.lastIndexOf(".") + 1)
      const count = counts.get(base) ?? 0
      counts.set(base, count + 1)
      const name = `${base}_${count + 1}`
      nodes.push({ op, name, target, args, kwargs })
      return { ref: name }
    }
  }
}

const input = (name: string): Argument => ({ ref: name })

/** For each token, whether the mask or the weight is not 0. */
const isCounted = (emit: Emitter, weights: Argument) => emit.apply(operator("ne"), [weights, 0])

const total = (emit: Emitter, counted: Argument, values: Argument) =>
  emit.apply(method("sum"), [emit.apply(torch("where"), [counted, values, 0])])

const reduction = (emit: Emitter, of: Argument, weights: Argument | undefined, isMean: boolean): Argument => {
  const counted = isCounted(emit, weights ?? input("mask"))
  const sum = total(emit, counted, weights === undefined ? of : emit.apply(operator("mul"), [of, weights]))
  if (!isMean) return sum
  const count = emit.apply(method("sum"), [weights ?? counted])
  // Without any token that counts, the sum is 0, and so is the mean.
  const divisor = weights === undefined
    ? emit.apply(method("clamp"), [count], { min: 1 })
    : emit.apply(torch("where"), [emit.apply(operator("ne"), [count, 0]), count, 1])
  return emit.apply(operator("truediv"), [sum, divisor])
}

/** The first numeric node from which a condition is computed. */
const numberIn = (emit: Emitter, { node }: Any): Argument | undefined => {
  for (const operand of node._tag === "Apply" ? node.operands : []) {
    const found = operand.type === "number" ? argument(emit, operand) : numberIn(emit, operand)
    if (isRef(found)) return found
  }
  return undefined
}

/** `torch.where` treats two numbers as float32, so one of them gets the dtype of the log-probabilities. */
const where = (
  emit: Emitter,
  { node, shape }: Any,
  [condition = null, yes = null, no = null]: ReadonlyArray<Argument>
): Argument => {
  if (typeof condition === "number") return condition === 0 ? no : yes
  const [term] = node._tag === "Apply" ? node.operands : []
  const like = shape === "token" || term === undefined ? input("logprobs") : numberIn(emit, term)
  const areNumbers = typeof yes === "number" && typeof no === "number" && like !== undefined
  return emit.apply(torch("where"), [condition, areNumbers ? emit.apply(torch("full_like"), [like, yes]) : yes, no])
}

/** Evaluates functions of constants here, because `torch.exp` and similar functions take only tensors. */
const evaluators: Readonly<Partial<Record<Operator, (x: number, y: number) => number>>> = {
  neg: (x) => -x,
  exp: Math.exp,
  log: Math.log,
  square: (x) => x * x,
  sqrt: Math.sqrt,
  abs: Math.abs,
  sign: Math.sign,
  stopGradient: (x) => x,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  logSigmoid: (x) => -Math.log1p(Math.exp(-x)),
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  minimum: Math.min,
  maximum: Math.max,
  gt: (x, y) => Number(x > y),
  ge: (x, y) => Number(x >= y),
  lt: (x, y) => Number(x < y),
  le: (x, y) => Number(x <= y),
  and: (x, y) => Math.min(x, y),
  or: Math.max,
  not: (x) => 1 - x
}

/** `clamp` for the minimum or maximum of a tensor and a number, because `torch.minimum` takes only tensors. */
const withBound = (emit: Emitter, operator: Operator, args: ReadonlyArray<Argument>): Argument | undefined => {
  if (operator !== "minimum" && operator !== "maximum") return undefined
  const bound = args.find((argument) => typeof argument === "number")
  const tensor = args.find(isRef)
  return bound === undefined || tensor === undefined
    ? undefined
    : emit.apply(method("clamp"), [tensor], { [operator === "minimum" ? "max" : "min"]: bound })
}

const applied = (emit: Emitter, term: Any, operator: Operator, args: ReadonlyArray<Argument>): Argument => {
  const [first = null, second = null] = args
  const evaluate = evaluators[operator]
  if (evaluate !== undefined && typeof first === "number" && (args.length === 1 || typeof second === "number")) {
    return evaluate(first, typeof second === "number" ? second : NaN)
  }
  if (operator === "where") return where(emit, term, args)
  return withBound(emit, operator, args) ?? emit.apply(targets[operator], args)
}

const argument = (emit: Emitter, term: Any): Argument => {
  const { node } = term
  const known = emit.known.get(node)
  if (known !== undefined) return known
  const emitted = fresh(emit, term)
  emit.known.set(node, emitted)
  return emitted
}

const bounded = (emit: Emitter, of: Any, low: Any | undefined, high: Any | undefined): Argument => {
  const value = argument(emit, of)
  const bounds = {
    ...(low === undefined ? {} : { min: argument(emit, low) }),
    ...(high === undefined ? {} : { max: argument(emit, high) })
  }
  return emit.apply(torch("clamp"), [value], bounds)
}

const number = (value: number): Argument =>
  Number.isFinite(value) ? value : { float: Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf" }

const fresh = (emit: Emitter, term: Any): Argument => {
  const { node } = term
  switch (node._tag) {
    case "Input":
      return input(node.name)
    case "Parameter":
    case "Number":
      return number(node.value)
    case "Named":
      return argument(emit, node.of)
    case "Clamp":
      return bounded(emit, node.of, node.low, node.high)
    case "Sum":
    case "Mean":
      return reduction(
        emit,
        argument(emit, node.of),
        node.weights === undefined ? undefined : argument(emit, node.weights),
        node._tag === "Mean"
      )
    case "Apply":
      return applied(emit, term, node.operator, node.operands.map((operand) => argument(emit, operand)))
  }
}

const namesIn = (values: ReadonlyArray<Argument>): ReadonlyArray<string> =>
  values.flatMap((value) => isRef(value) ? [value.ref] : [])

/** The graph of a loss. A per-token loss is summed over the action tokens. Inputs that are not read are left out, except `logprobs`. */
export const emit = (name: string, term: Any, declared: ReadonlyArray<LossGraph.Input>): LossGraph.LossGraph => {
  const emitting = emitter()
  const value = argument(emitting, term)
  const loss = term.shape === "token" ? reduction(emitting, value, undefined, false) : value
  const read = new Set(emitting.nodes.flatMap(({ args, kwargs }) => namesIn([...args, ...Object.values(kwargs)])))
  const inputs = declared.filter((input) => input.name === "logprobs" || read.has(input.name))
  const placeholders = inputs.map(({ name }): LossGraph.Node => ({
    op: "placeholder",
    name,
    target: name,
    args: [],
    kwargs: {}
  }))
  const output: LossGraph.Node = {
    op: "output",
    name: "output",
    target: "output",
    args: [{ tuple: [loss, { dict: {} }] }],
    kwargs: {}
  }
  return { name, inputs, graph: { format: 1, nodes: [...placeholders, ...emitting.nodes, output] } }
}
