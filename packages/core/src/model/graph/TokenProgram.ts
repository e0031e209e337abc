/**
 * Loss graphs in which every value is a number per token or one per datum, as most are: computed for all tokens of many data at once,
 * with the slopes of all. The meaning of each operation is that of the interpreter, which computes all other graphs.
 */
import type { LossGraph, Node } from "../LossGraph.ts"
import { atLeast, atMost } from "./Elementwise.ts"
import type { Binary } from "./Pointwise.ts"
import * as Register from "./Register.ts"
import * as Whitelist from "./Whitelist.ts"

type Register = Register.Register

/** One input of a datum, row-major. */
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
  readonly logprobs: Register
  readonly loss: Register
  readonly metrics: ReadonlyArray<readonly [name: string, register: Register]>
}

/** What a graph's nodes stand for while its program is made: registers, or numbers. */
type Operand = Register | number

interface Building {
  readonly values: Map<string, Register>
  readonly constants: Array<Register>
  readonly instructions: Array<Register.Instruction>
  readonly spreads: Map<Register, Register>
}

type Argument = Node["args"][number]

const operandOf = ({ values }: Building, argument: Argument | undefined): Operand | undefined => {
  if (typeof argument === "number") return argument
  if (typeof argument !== "object" || argument === null || !("ref" in argument)) return undefined
  return typeof argument.ref === "string" ? values.get(argument.ref) : undefined
}

const add = ({ instructions }: Building, instruction: Register.Instruction): Register => {
  instructions.push(instruction)
  return instruction.output
}

/** An operand with a value for each element of an extent. */
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

const binary = (building: Building, x: Operand, y: Operand, pointwise: Binary): Register => {
  const extent = extentOf([x, y])
  return add(building, Register.binary(extended(building, x, extent), extended(building, y, extent), pointwise))
}

/** Operations that are more than a function of each element; undefined where they are used in a way that programs do not have. */
type Special = (building: Building, operands: ReadonlyArray<Operand>, named: Node["kwargs"]) => Register | undefined

const isAlone = (operands: ReadonlyArray<Operand>, named: Node["kwargs"], count: number) =>
  operands.length === count && Object.keys(named).length === 0

const sum: Special = (building, operands, named) => {
  const [x] = operands
  return isAlone(operands, named, 1) && typeof x === "object" && x.extent === "token"
    ? add(building, Register.sum(x))
    : undefined
}

const detach: Special = (building, operands, named) => {
  const [x] = operands
  return isAlone(operands, named, 1) && typeof x === "object" ? add(building, Register.detach(x)) : undefined
}

/** Two numbers become float32 in torch, which programs do not have. */
const where: Special = (building, operands, named) => {
  const [condition, yes, no] = operands
  if (!isAlone(operands, named, 3) || condition === undefined || yes === undefined || no === undefined) return undefined
  if (typeof yes === "number" && typeof no === "number") return undefined
  const of = (operand: Operand) => extended(building, operand, extentOf(operands))
  return add(building, Register.where(of(condition), of(yes), of(no)))
}

const clamp: Special = (building, [x, ...others], named) => {
  if (typeof x !== "object" || others.length > 0) return undefined
  let bounded = x
  for (const [name, bound] of [["min", atLeast], ["max", atMost]] as const) {
    const limit = operandOf(building, named[name])
    if (limit !== undefined) bounded = binary(building, bounded, limit, bound.pointwise)
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
  if (node.op !== "call_function" && node.op !== "call_method") return undefined
  const known = Whitelist.find(node.op, node.target)?.pointwise
  const [x, y] = operands
  if (known === undefined || !isAlone(operands, node.kwargs, known.arity) || x === undefined) return undefined
  if (known.arity === 1) return typeof x === "object" ? add(building, Register.unary(x, known)) : undefined
  if (y === undefined || (typeof x === "number" && typeof y === "number")) return undefined
  return binary(building, x, y, known)
}

const valueOf = (building: Building, node: Node): Register | undefined => {
  const operands = node.args.map((argument) => operandOf(building, argument))
  if (operands.some((operand) => operand === undefined)) return undefined
  const known = operands.flatMap((operand) => operand ?? [])
  const special = specials.get(`${node.op} ${node.target}`)
  return special === undefined ? pointwise(building, node, known) : special(building, known, node.kwargs)
}

/** What a checked graph computes. */
interface Output {
  readonly loss: string
  readonly metrics: ReadonlyArray<readonly [name: string, node: string]>
}

/** The program of a checked graph, or undefined where a graph has other values or operations. */
export const make = ({ graph, inputs }: LossGraph, output: Output): TokenProgram | undefined => {
  if (inputs.some(({ rank }) => rank === 2)) return undefined
  const registers = inputs.map(({ name, rank }) =>
    [name, Register.make(rank === 1 ? "token" : "datum", name === "logprobs")] as const
  )
  const building: Building = { values: new Map(registers), constants: [], instructions: [], spreads: new Map() }
  const { constants, instructions, values } = building
  for (const node of graph.nodes) {
    if (node.op === "placeholder" || node.op === "output") continue
    const value = valueOf(building, node)
    if (value === undefined) return undefined
    values.set(node.name, value)
  }
  const [logprobs, loss] = [values.get("logprobs"), values.get(output.loss)]
  const metrics = output.metrics.flatMap(([name, node]) => {
    const register = values.get(node)
    return register?.extent === "datum" ? [[name, register] as const] : []
  })
  if (logprobs === undefined || loss?.extent !== "datum" || metrics.length < output.metrics.length) return undefined
  return { inputs: registers, constants, instructions, logprobs, loss, metrics }
}

const tokensOf = ({ logprobs }: Inputs): number => logprobs?.data.length ?? 0

/** Whether a datum has every input, one value for each of its tokens or one in all. */
export const fits = ({ inputs }: TokenProgram, datum: Inputs): boolean =>
  inputs.every(([name, { extent }]) => {
    const values = datum[name]
    if (values === undefined) return false
    const { data, shape } = values
    return extent === "datum"
      ? shape.length === 0 && data.length === 1
      : shape.length === 1 && shape[0] === data.length && data.length === tokensOf(datum)
  })

/** Numbers that are computed for a datum. */
export const elementsOf = ({ instructions }: TokenProgram, datum: Inputs): number => {
  const perToken = instructions.filter(({ output }) => output.extent === "token").length
  return perToken * tokensOf(datum) + instructions.length - perToken
}

const layoutOf = (data: ReadonlyArray<Inputs>): Register.Layout => {
  const datumOf = new Int32Array(data.reduce((sum, datum) => sum + tokensOf(datum), 0))
  let start = 0
  for (const [datum, inputs] of data.entries()) {
    const end = start + tokensOf(inputs)
    datumOf.fill(datum, start, end)
    start = end
  }
  return { tokens: datumOf.length, data: data.length, datumOf }
}

const fill = (register: Register, name: string, data: ReadonlyArray<Inputs>) => {
  let at = 0
  for (const datum of data) {
    const values = datum[name]?.data ?? []
    register.values.set(values, at)
    at += values.length
  }
}

const compute = (program: TokenProgram, data: ReadonlyArray<Inputs>) => {
  const layout = layoutOf(data)
  const { constants, inputs, instructions, loss } = program
  for (const [, register] of inputs) Register.prepare(register, layout)
  for (const register of constants) Register.prepare(register, layout)
  for (const { output } of instructions) Register.prepare(output, layout)
  for (const [name, register] of inputs) fill(register, name, data)
  for (const { forward } of instructions) forward(layout)
  if (loss.isTracked) loss.slopes.fill(1, 0, layout.data)
  for (let at = instructions.length - 1; at >= 0; at--) instructions[at]?.back(layout)
}

/** Of data that all fit. */
export const evaluate = (program: TokenProgram, data: ReadonlyArray<Inputs>) => {
  compute(program, data)
  const { logprobs, loss, metrics } = program
  let end = 0
  return data.map((inputs, datum) => {
    const start = end
    end += tokensOf(inputs)
    return {
      loss: loss.values[datum] ?? NaN,
      gradient: logprobs.slopes.slice(start, end),
      hasGradient: loss.isTracked,
      elements: elementsOf(program, inputs),
      metrics: Object.fromEntries(metrics.map(([name, { values }]) => [name, values[datum] ?? NaN]))
    }
  })
}
