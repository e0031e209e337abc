/**
 * Compiles loss graphs in which every value is one number per token or one per datum, which includes all loss expressions. `Execution` runs
 * the programs for the tokens of many data at once.
 */
import type { LossGraph, Node } from "../LossGraph.ts"
import * as Pointwise from "./Pointwise.ts"
import * as Register from "./Register.ts"

/** The node that cannot be compiled or the input that cannot be evaluated, and the reason. */
export class Incomputable extends Error {
  readonly node: string
  readonly detail: string
  constructor(node: string, detail: string) {
    super(`${node}: ${detail}`)
    this.node = node
    this.detail = detail
  }
}

type Register = Register.Register

/** The values of one input for one datum, row-major. */
export interface Values {
  readonly data: ArrayLike<number>
  readonly shape: ReadonlyArray<number>
}

/** The inputs of one datum by name. */
export type Inputs = Readonly<Record<string, Values>>

export interface TokenProgram {
  readonly inputs: ReadonlyArray<readonly [name: string, register: Register]>
  readonly constants: ReadonlyArray<Register>
  readonly instructions: ReadonlyArray<Register.Instruction>
  /** The number of instructions that compute a number per token. */
  readonly perToken: number
  /** Inputs that mark the tokens that sums count: a token where all of them are 0 adds nothing. Undefined if a sum counts all tokens. */
  readonly counting: ReadonlyArray<Register> | undefined
  readonly logprobs: Register
  readonly loss: Register
  readonly metrics: ReadonlyArray<readonly [name: string, register: Register]>
}

/** What a graph's node becomes in a program: a register or a constant. */
type Operand = Register | number

interface Building {
  readonly values: Map<string, Register>
  readonly constants: Array<Register>
  readonly instructions: Array<Register.Instruction>
  readonly spreads: Map<Register, Register>
  /** For a value, an input that marks its tokens: where the input is 0, the value is 0 and passes no gradient on. */
  readonly zeros: Map<Register, Register>
  /** The input that marks the tokens of each sum; undefined for a sum over all tokens. */
  readonly counting: Set<Register | undefined>
}

type Argument = Node["args"][number]

const isObject = (value: Argument | undefined): value is Readonly<Record<string, Argument>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const floats: ReadonlyMap<Argument, number> = new Map([["inf", Infinity], ["-inf", -Infinity], ["nan", NaN]])

const operandOf = ({ values }: Building, argument: Argument | undefined): Operand | undefined => {
  if (typeof argument === "number") return argument
  if (!isObject(argument)) return undefined
  const { float = null, ref } = argument
  return typeof ref === "string" ? values.get(ref) : floats.get(float)
}

const add = ({ instructions }: Building, instruction: Register.Instruction): Register => {
  instructions.push(instruction)
  return instruction.output
}

/** Spreads an operand to a value for each element of an extent. */
const extended = (building: Building, operand: Operand, extent: Register.Extent): Register => {
  if (typeof operand === "number") {
    const constant = Register.make(extent, false, operand)
    building.constants.push(constant)
    return constant
  }
  if (operand.extent === extent) return operand
  const known = building.spreads.get(operand)
  if (known !== undefined) return known
  const spread = add(building, Register.spread(operand))
  building.spreads.set(operand, spread)
  return spread
}

const extentOf = (operands: ReadonlyArray<Operand>): Register.Extent =>
  operands.some((operand) => typeof operand !== "number" && operand.extent === "token") ? "token" : "datum"

const binary = (building: Building, x: Operand, y: Operand, pointwise: Pointwise.Binary): Register => {
  const extent = extentOf([x, y])
  return add(building, Register.binary(extended(building, x, extent), extended(building, y, extent), pointwise))
}

/** An operation that is not elementwise. The result is undefined if programs do not support the operation with these operands. */
type Special = (building: Building, operands: ReadonlyArray<Operand>, named: Node["kwargs"]) => Register | undefined

const isAlone = (operands: ReadonlyArray<Operand>, named: Node["kwargs"], count: number) =>
  operands.length === count && Object.keys(named).length === 0

const sum: Special = (building, operands, named) => {
  const [x] = operands
  if (!isAlone(operands, named, 1) || typeof x !== "object" || x.extent !== "token") return undefined
  building.counting.add(building.zeros.get(x))
  return add(building, Register.sum(x))
}

const detach: Special = (building, operands, named) => {
  const [x] = operands
  return isAlone(operands, named, 1) && typeof x === "object" ? add(building, Register.detach(x)) : undefined
}

/** Records that `output` is 0 at tokens at which `from` is 0. */
const keepZeros = ({ zeros }: Building, from: Operand, output: Register) => {
  const input = typeof from === "object" ? zeros.get(from) : undefined
  if (input !== undefined) zeros.set(output, input)
}

/** Compiles `where`. Two constants are not supported, because torch would make the result float32. */
const where: Special = (building, operands, named) => {
  const [condition, yes, no] = operands
  if (!isAlone(operands, named, 3) || condition === undefined || yes === undefined || no === undefined) return undefined
  if (typeof yes === "number" && typeof no === "number") return undefined
  const of = (operand: Operand) => extended(building, operand, extentOf(operands))
  const output = add(building, Register.where(of(condition), of(yes), of(no)))
  if (no === 0) keepZeros(building, condition, output)
  return output
}

const clamp: Special = (building, [x, ...others], named) => {
  if (typeof x !== "object" || others.length > 0) return undefined
  let bounded = x
  for (const name of ["min", "max"] as const) {
    const limit = operandOf(building, named[name])
    const side = Pointwise.bounds[name][typeof limit === "number" ? "number" : "tensor"]
    if (limit !== undefined) bounded = binary(building, bounded, limit, side)
    else if (name in named) return undefined
  }
  const isKnown = Object.keys(named).every((name) => name === "min" || name === "max")
  return isKnown && bounded !== x ? bounded : undefined
}

const fullLike: Special = (building, operands, named) => {
  const [x, value] = operands
  return isAlone(operands, named, 2) && typeof x === "object" && typeof value === "number"
    ? extended(building, value, x.extent)
    : undefined
}

const specials: ReadonlyMap<string, Special> = new Map([
  ["call_method sum", sum],
  ["call_function torch.sum", sum],
  ["call_method detach", detach],
  ["call_function torch.detach", detach],
  ["call_method clamp", clamp],
  ["call_function torch.clamp", clamp],
  ["call_function torch.where", where],
  ["call_function torch.full_like", fullLike]
])

const pointwise = (building: Building, node: Node, operands: ReadonlyArray<Operand>): Register | undefined => {
  const known = Pointwise.find(node.op, node.target)
  const [x, y] = operands
  if (known === undefined || !isAlone(operands, node.kwargs, known.arity) || x === undefined) return undefined
  if (known.arity === 1) return typeof x === "object" ? add(building, Register.unary(x, known)) : undefined
  if (y === undefined || (typeof x === "number" && typeof y === "number")) return undefined
  const output = binary(building, x, y, known)
  if (!output.isTracked && typeof y === "number" && known.f(0, y) === 0) keepZeros(building, x, output)
  return output
}

const valueOf = (building: Building, node: Node): Register | undefined => {
  const operands = node.args.map((argument) => operandOf(building, argument))
  if (operands.some((operand) => operand === undefined)) return undefined
  const known = operands.flatMap((operand) => operand ?? [])
  const special = specials.get(`${node.op} ${node.target}`)
  return special === undefined ? pointwise(building, node, known) : special(building, known, node.kwargs)
}

const refuse = (node: string, detail: string): never => {
  throw new Incomputable(node, detail)
}

const refOf = (value: Argument | undefined) =>
  isObject(value) && typeof value["ref"] === "string" ? value["ref"] : undefined

/** Reads the loss and the metrics from an output `(loss, {metric: value})`. */
const outputOf = ({ args: [output], name }: Node) => {
  const pair = isObject(output) ? output["tuple"] : output
  const [value, metrics] = Array.isArray(pair) ? pair : []
  const [loss, dict] = [refOf(value), isObject(metrics) ? metrics["dict"] : undefined]
  return loss === undefined || !isObject(dict)
    ? refuse(name, "the output is not (loss, metrics)")
    : { loss, metrics: Object.entries(dict).map(([metric, value]) => [metric, refOf(value) ?? ""] as const) }
}

/** Compiles a graph to a program. Throws `Incomputable` if the graph has other values or operations. */
export const make = ({ graph, inputs, name }: LossGraph): TokenProgram => {
  const wide = inputs.find(({ rank }) => rank === 2)
  if (wide !== undefined) return refuse(wide.name, "has rank 2, expected 0 or 1: one target per token")
  const registers = inputs.map(({ name, rank }) =>
    [name, Register.make(rank === 1 ? "token" : "datum", name === "logprobs")] as const
  )
  const counters = registers.flatMap(([, input]) => input.extent === "token" && !input.isTracked ? [input] : [])
  const building: Building = {
    values: new Map(registers),
    constants: [],
    instructions: [],
    spreads: new Map(),
    zeros: new Map(counters.map((input) => [input, input])),
    counting: new Set()
  }
  const { constants, instructions, values } = building
  for (const node of graph.nodes) {
    if (node.op === "placeholder" || node.op === "output") continue
    const value = valueOf(building, node)
    if (value === undefined) return refuse(node.name, `${node.target} is not computed here as it is used`)
    values.set(node.name, value)
  }
  const last = graph.nodes.find(({ op }) => op === "output") ?? refuse("graph", "has no output")
  const output = outputOf(last)
  const scalarOf = (node: string, what: string) => {
    const value = values.get(node)
    return value?.extent === "datum"
      ? value
      : refuse(last.name, `${what} of ${name} is not one value of the datum`)
  }
  const logprobs = registers.find(([name]) => name === "logprobs")?.[1] ?? refuse("graph", "has no logprobs")
  const counting = Array.from(building.counting).flatMap((input) => input ?? [])
  return {
    inputs: registers,
    constants,
    instructions,
    perToken: instructions.filter(({ output }) => output.extent === "token").length,
    counting: building.counting.has(undefined) ? undefined : counting,
    logprobs,
    loss: scalarOf(output.loss, "the loss"),
    metrics: output.metrics.map(([metric, node]) => [metric, scalarOf(node, `metric ${metric}`)])
  }
}
