/** Matrices of which only some cells are given, row by row (CSR). */
import * as Result from "effect/Result"
import * as Bytes from "./Bytes.ts"
import type { SparseCsr } from "./gen/TinkerPublic.gen.ts"

/** Cells that a dense copy may have. */
const maximumCells = 2 ** 26

const fill = <A extends Float32Array | BigInt64Array>(
  dense: A,
  place: (dense: A, cell: number, at: number) => void,
  { crow, columns, of }: { readonly crow: BigInt64Array; readonly columns: BigInt64Array; readonly of: number }
): Result.Result<A, string> => {
  const rows = crow.length - 1
  for (let row = 0; row < rows; row++) {
    for (let at = Number(crow[row]); at < Number(crow[row + 1]); at++) {
      const column = Number(columns[at])
      if (!(column >= 0 && column < of)) return Result.fail(`column index ${column}, expected 0 to ${of - 1}`)
      place(dense, row * of + column, at)
    }
  }
  return Result.succeed(dense)
}

/** All cells of a sparse matrix `[rows, columns]`, zero where none is given. */
export const toDense = (
  values: Float32Array | BigInt64Array,
  { colIndices, crowIndices }: SparseCsr,
  [rows, of]: ReadonlyArray<number>
): Result.Result<Float32Array | BigInt64Array, string> => {
  if (rows === undefined || of === undefined) return Result.fail("a sparse tensor needs a shape of two numbers")
  if (!(rows >= 0 && of >= 0 && rows * of <= maximumCells)) return Result.fail(`shape is ${rows} by ${of}`)
  const crow = Bytes.toInt64(crowIndices)
  const columns = Bytes.toInt64(colIndices)
  if (Result.isFailure(crow)) return Result.fail(`crow indices: ${crow.failure}`)
  if (Result.isFailure(columns)) return Result.fail(`column indices: ${columns.failure}`)
  const last = Number(crow.success.at(-1) ?? -1n)
  if (crow.success.length !== rows + 1 || last !== values.length || columns.success.length !== values.length) {
    return Result.fail("the indices do not match the values")
  }
  const indices = { crow: crow.success, columns: columns.success, of }
  return values instanceof Float32Array
    ? fill(new Float32Array(rows * of), (dense, cell, at) => {
      dense[cell] = values[at] ?? 0
    }, indices)
    : fill(new BigInt64Array(rows * of), (dense, cell, at) => {
      dense[cell] = values[at] ?? 0n
    }, indices)
}
