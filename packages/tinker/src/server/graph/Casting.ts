/** Casts between number types, and tensor attributes. */
import { swapped } from "./Shapes.ts"
import * as Tensor from "./Tensor.ts"
import { isConstant, isList, isNamedTuple, type Operation, type Value } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const kinds = new Map<string, Tensor.Kind>([
  ...["float64", "double"].map((name) => [name, "float"] as const),
  ...["float", "float16", "float32", "bfloat16", "half"].map((name) => [name, "single"] as const),
  ...["int", "int8", "int16", "int32", "int64", "long", "uint8", "short"].map((name) => [name, "int"] as const),
  ["bool", "bool"]
])

export const kindOf = (value: Value): Tensor.Kind | undefined =>
  isConstant(value, "dtype") ? kinds.get(value.name) : undefined

/** Casts a tensor. Half precision is treated as float32; conversion to integers truncates toward 0. */
const cast = (x: Variable, kind: Tensor.Kind): Variable => {
  if (kind === x.tensor.kind) return x
  if (Tensor.isFloat(kind)) return Variable.whole(Tensor.make(kind, x.tensor.shape, x.tensor.data), x, (slope) => slope)
  const f = kind === "int" ? Math.trunc : (value: number) => Number(value !== 0)
  return Variable.unary(x, f, undefined, kind)
}

const castTo = (kind: Tensor.Kind): Operation => ({
  parameters: ["input"],
  run: (args) => cast(args.tensor("input"), kind)
})

const convert: Operation = {
  parameters: ["input", "dtype", "other", "last"],
  run: (args) => {
    const x = args.tensor("input")
    const second = args.get("dtype")
    if (Variable.isVariable(second)) return cast(x, second.tensor.kind)
    const kind = ["dtype", "other", "last"].map((name) => kindOf(args.get(name))).find((found) => found !== undefined)
    return kind === undefined ? x : cast(x, kind)
  }
}

const names: Readonly<Record<Tensor.Kind, string>> = { float: "float64", single: "float32", int: "int64", bool: "bool" }

const attribute: Operation = {
  parameters: ["input", "name"],
  run: (args) => {
    const [whole, name] = [args.get("input"), args.text("name", "")]
    if (isList(whole)) {
      return isNamedTuple(whole) && whole.names.includes(name)
        ? whole[whole.names.indexOf(name)]
        : Tensor.refuse(`a tuple has no attribute ${name}`)
    }
    const x = args.tensor("input")
    const { kind, shape } = x.tensor
    switch (name) {
      case "shape":
        return shape
      case "ndim":
        return shape.length
      case "dtype":
        return { _tag: "dtype", name: names[kind] }
      case "device":
        return { _tag: "device", name: "cpu" }
      case "T":
      case "mT":
        return shape.length < 2 ? x : swapped(x, -1, -2)
      case "real":
      case "data":
        return name === "data" ? Variable.detach(x) : x
      default:
        return Tensor.refuse(`attribute ${name} is not supported`)
    }
  }
}

const same: Operation = { parameters: ["input", "memory_format"], run: (args) => args.tensor("input") }

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  clone: same,
  detach: { parameters: ["input"], run: (args) => Variable.detach(args.tensor("input")) },
  numel: { parameters: ["input"], run: (args) => args.tensor("input").tensor.data.length }
}

export const functions: Readonly<Record<string, Operation>> = {
  "getattr": attribute
}

export const methods: Readonly<Record<string, Operation>> = {
  cpu: same,
  requires_grad_: { parameters: ["input", "requires_grad"], run: (args) => args.tensor("input") },
  to: convert,
  type_as: convert,
  type: convert,
  float: castTo("single"),
  double: castTo("float"),
  half: castTo("single"),
  bfloat16: castTo("single"),
  long: castTo("int"),
  int: castTo("int"),
  bool: castTo("bool"),
  dim: { parameters: ["input"], run: (args) => args.tensor("input").tensor.shape.length },
  ndimension: { parameters: ["input"], run: (args) => args.tensor("input").tensor.shape.length },
  nelement: { parameters: ["input"], run: (args) => args.tensor("input").tensor.data.length },
  size: {
    parameters: ["input", "dim"],
    run: (args) => {
      const { shape } = args.tensor("input").tensor
      return args.has("dim") ? shape[Tensor.axisOf(args.number("dim"), shape.length)] : shape
    }
  }
}
