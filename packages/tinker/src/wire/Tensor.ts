/** Converts the tensors of a received pass to the flat arrays that losses read. */
import * as Result from "effect/Result"
import * as Bytes from "./Bytes.ts"
import { DType, type Tensor } from "./gen/TinkerPublic.gen.ts"
import * as Sparse from "./Sparse.ts"

/** Row-major values; `columns` is set for a tensor of rank 2. */
export interface Flat<A> {
  readonly values: A
  readonly columns?: number
}

/** The remaining number of dense cells that the tensors of one request may use; it counts down. */
export interface Allowance {
  cells: number
}

/** Maximum number of dense cells in all tensors of one request: 32 MiB of tokens or floats. */
export const mostCells = 2 ** 23

const product = (shape: ReadonlyArray<number>) => shape.reduce((cells, size) => cells * size, 1)

const isSize = (size: number) => Number.isSafeInteger(size) && size >= 0

/** The declared shape, or that of a vector if none is declared. */
const shapeOf = ({ shape }: Tensor, length: number) => shape.length === 0 ? [length] : shape.map(Number)

const checked = (shape: ReadonlyArray<number>, allowance: Allowance): Result.Result<void, string> => {
  if (shape.length > 2 || !shape.every(isSize)) {
    return Result.fail(`shape is [${shape.join(", ")}], expected one or two sizes`)
  }
  const cells = product(shape)
  if (cells > allowance.cells) {
    return Result.fail(
      `shape is [${shape.join(", ")}], expected at most ${allowance.cells} cells: send fewer datums at once`
    )
  }
  allowance.cells -= cells
  return Result.void
}

const flat = <A>(values: A, [, columns]: ReadonlyArray<number>): Flat<A> =>
  columns === undefined ? { values } : { values, columns }

interface Kind<A> {
  readonly read: (bytes: Uint8Array, dtype: DType) => Result.Result<A, string>
  readonly zeros: (length: number) => A
}

/** Reads a tensor. A sparse tensor must have one row per position, which is checked before its dense copy is allocated. */
const read = <A extends Int32Array | Float32Array>(
  { encoding, ...tensor }: Tensor,
  positions: number,
  allowance: Allowance,
  kind: Kind<A>
): Result.Result<Flat<A>, string> =>
  Result.gen(function*() {
    if (encoding.case === "sparseCsr") {
      const shape = tensor.shape.map(Number)
      const [rows] = shape
      if (shape.length !== 2 || rows !== positions) {
        return yield* Result.fail(`shape is [${shape.join(", ")}], expected ${positions} rows and a number of columns`)
      }
      yield* checked(shape, allowance)
      const values = yield* kind.read(encoding.value.values, tensor.dtype)
      return flat(yield* Sparse.fill(kind.zeros(product(shape)), values, encoding.value, shape), shape)
    }
    const values = yield* kind.read(encoding.value ?? new Uint8Array(), tensor.dtype)
    const shape = shapeOf({ encoding, ...tensor }, values.length)
    yield* checked(shape, allowance)
    return values.length === product(shape)
      ? flat(values, shape)
      : yield* Result.fail(
        `data has ${values.length} values, expected ${product(shape)} of shape [${shape.join(", ")}]`
      )
  })

const names = new Map<DType, string>([
  [DType.FLOAT32, "float32"],
  [DType.INT64, "int64"],
  [DType.INT32, "int32"],
  [DType.BFLOAT16, "bfloat16"]
])

const named = (dtype: DType) => names.get(dtype) ?? `${dtype}`

const ids: Kind<Int32Array> = {
  zeros: (length) => new Int32Array(length),
  read: (bytes, dtype) =>
    dtype === DType.INT64 ? Bytes.toTokens(bytes) : Result.fail(`dtype is ${named(dtype)}, expected int64`)
}

const numbers: Kind<Float32Array> = {
  zeros: (length) => new Float32Array(length),
  read: (bytes, dtype) => {
    if (dtype === DType.FLOAT32) return Bytes.toFloat32(bytes)
    return dtype === DType.INT64
      ? Result.map(Bytes.toInt64(bytes), (values) => Float32Array.from(values, Number))
      : Result.fail(`dtype is ${named(dtype)}, expected float32`)
  }
}

/** The token ids in a tensor whose rows correspond to `positions` tokens. */
export const tokens = (
  tensor: Tensor,
  positions: number,
  allowance: Allowance
): Result.Result<Flat<Int32Array>, string> => read(tensor, positions, allowance, ids)

export const floats = (
  tensor: Tensor,
  positions: number,
  allowance: Allowance
): Result.Result<Flat<Float32Array>, string> => read(tensor, positions, allowance, numbers)
