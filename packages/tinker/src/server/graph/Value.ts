/** Values of node arguments, and typed access to them. */
import { InvalidOperation, refuse } from "./Tensor.ts"
import * as Variable from "./Variable.ts"

/** A Python slice `[start, stop, step]` of a tuple or tensor. */
export interface Slice {
  readonly _tag: "Slice"
  readonly bounds: readonly [number | undefined, number | undefined, number | undefined]
}

/** A torch constant such as `float32`, or `...`. */
export interface Constant {
  readonly _tag: "Ellipsis" | "dtype" | "device" | "layout" | "memory_format"
  readonly name: string
}

export type Value =
  | Variable.Variable
  | number
  | boolean
  | string
  | null
  | undefined
  | Slice
  | Constant
  | ReadonlyArray<Value>

export const isList = (value: Value): value is ReadonlyArray<Value> => Array.isArray(value)

/** A tuple whose elements also have names, such as the result of `sort`. */
export type NamedTuple = ReadonlyArray<Value> & { readonly names: ReadonlyArray<string> }

export const namedTuple = (elements: Readonly<Record<string, Value>>): NamedTuple =>
  Object.assign(Object.values(elements), { names: Object.keys(elements) })

export const isNamedTuple = (value: Value): value is NamedTuple => isList(value) && "names" in value

const isTagged = (value: Value): value is Slice | Constant =>
  typeof value === "object" && value !== null && "_tag" in value

export const isSlice = (value: Value): value is Slice => isTagged(value) && value._tag === "Slice"

export const isConstant = (value: Value, tag: Constant["_tag"]): value is Constant =>
  isTagged(value) && value._tag === tag

const describe = (value: Value): string => {
  if (Variable.isVariable(value)) return `a tensor of shape [${value.tensor.shape.join(", ")}]`
  if (isList(value)) return `a list of ${value.length}`
  if (isTagged(value)) return value._tag
  return typeof value === "string" ? JSON.stringify(value) : String(value)
}

/** The arguments of one call, by name. Reading an argument of the wrong type refuses the call. */
export class Arguments {
  readonly values: ReadonlyMap<string, Value>
  constructor(values: ReadonlyMap<string, Value>) {
    this.values = values
  }

  get(name: string): Value {
    return this.values.get(name)
  }

  has(name: string): boolean {
    const value = this.values.get(name)
    return value !== undefined && value !== null
  }

  private wrong(name: string, expected: string): never {
    throw new InvalidOperation(`argument ${name} is ${describe(this.get(name))}, expected ${expected}`)
  }

  /** A tensor argument; numbers are converted to tensors. */
  tensor(name: string): Variable.Variable {
    const value = this.get(name)
    if (Variable.isVariable(value)) return value
    if (typeof value === "number") return Variable.number(value, Number.isInteger(value) ? "int" : "float")
    if (typeof value === "boolean") return Variable.number(Number(value), "bool")
    return this.wrong(name, "a tensor")
  }

  number(name: string, otherwise?: number): number {
    const value = this.has(name) ? this.get(name) : otherwise
    if (typeof value === "number") return value
    return typeof value === "boolean" ? Number(value) : this.wrong(name, "a number")
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.has(name) ? this.get(name) : otherwise
    return typeof value === "boolean" ? value : this.wrong(name, "true or false")
  }

  text(name: string, otherwise: string): string {
    const value = this.has(name) ? this.get(name) : otherwise
    return typeof value === "string" ? value : this.wrong(name, "text")
  }

  tensors(name: string): ReadonlyArray<Variable.Variable> {
    const value = this.get(name)
    if (!isList(value)) return this.wrong(name, "a list of tensors")
    return value.map((one) => Variable.isVariable(one) ? one : this.wrong(name, "a list of tensors"))
  }

  /** Dimensions, sizes or repetitions, given as one number or a list. */
  numbers(name: string): ReadonlyArray<number> | undefined {
    const value = this.get(name)
    if (value === undefined || value === null) return undefined
    if (typeof value === "number") return [value]
    if (!isList(value)) return this.wrong(name, "whole numbers")
    return value.flatMap((one) => {
      if (isList(one)) return one.map((inner) => typeof inner === "number" ? inner : this.wrong(name, "whole numbers"))
      return typeof one === "number" ? one : this.wrong(name, "whole numbers")
    })
  }
}

/** A torch operation with its parameter names. With `rest`, the last parameter takes the remaining positional arguments. */
export interface Operation {
  readonly parameters: ReadonlyArray<string>
  readonly rest?: boolean
  readonly run: (args: Arguments) => Value
}

/** Arguments that are accepted and ignored because they do not change the result. */
const ignored = new Set(["requires_grad", "device", "layout", "pin_memory", "non_blocking", "copy", "memory_format"])

export const call = (
  operation: Operation,
  args: ReadonlyArray<Value>,
  named: ReadonlyMap<string, Value>
): Value => {
  const { parameters, rest = false } = operation
  const values = new Map<string, Value>()
  const last = parameters.at(-1)
  if (rest && last !== undefined) {
    args.slice(0, parameters.length - 1).forEach((value, index) => values.set(parameters[index] ?? "", value))
    if (args.length >= parameters.length) values.set(last, args.slice(parameters.length - 1))
  } else {
    if (args.length > parameters.length) refuse(`${args.length} arguments, expected at most ${parameters.length}`)
    args.forEach((value, index) => values.set(parameters[index] ?? "", value))
  }
  for (const [name, value] of named) {
    const known = parameters.includes(name) ? name : name === "input" || name === "self" ? parameters[0] ?? name : name
    if (values.has(known)) refuse(`argument ${name} is given twice`)
    if (!parameters.includes(known)) {
      if (ignored.has(name) || value === null) continue
      refuse(`argument ${name} is not supported`)
    }
    values.set(known, value)
  }
  return operation.run(new Arguments(values))
}
