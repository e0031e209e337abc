/** Products of matrices and vectors. */
import * as Elementwise from "./Elementwise.ts"
import * as Tensor from "./Tensor.ts"
import type { Operation } from "./Value.ts"
import * as Variable from "./Variable.ts"

type Variable = Variable.Variable

const matrixProduct = (x: Variable, y: Variable): Variable => {
  const [left, right] = [x.tensor.shape, y.tensor.shape]
  if (left.length === 0 || right.length === 0 || left.length > 2 || right.length > 2) {
    return Tensor.refuse(`the matrix product of ${left.length} and ${right.length} dimensions`)
  }
  const [rows, inner] = left.length === 1 ? [1, left[0] ?? 0] : [left[0] ?? 0, left[1] ?? 0]
  const [height, columns] = right.length === 1 ? [right[0] ?? 0, 1] : [right[0] ?? 0, right[1] ?? 0]
  if (inner !== height) Tensor.refuse(`the matrix product of ${inner} columns and ${height} rows`)
  const full = [rows, inner, columns]
  const products = Elementwise.multiply(
    Variable.gather(x, full, Tensor.indexOf(full, [inner, 1, 0])),
    Variable.gather(y, full, Tensor.indexOf(full, [0, columns, 1]))
  )
  const shape = [...(left.length === 1 ? [] : [rows]), ...(right.length === 1 ? [] : [columns])]
  return Variable.scatterSum(products, shape, Tensor.indexOf(full, [columns, 0, 1]))
}

const matmul: Operation = {
  parameters: ["input", "other"],
  run: (args) => matrixProduct(args.tensor("input"), args.tensor("other"))
}

/** Operations that are available as `torch.<name>` and as a tensor method, by torch's name. */
export const shared: Readonly<Record<string, Operation>> = {
  matmul: matmul,
  mm: matmul,
  mv: matmul,
  dot: matmul,
  inner: matmul,
  outer: {
    parameters: ["input", "other"],
    run: (args) => {
      const [x, y] = [args.tensor("input"), args.tensor("other")]
      const column = Variable.gather(x, [x.tensor.data.length, 1], Tensor.places(x.tensor.data.length))
      return Elementwise.multiply(column, y)
    }
  }
}
