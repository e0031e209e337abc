/** Sparse matrices in compressed sparse row format (CSR). */
import * as Result from "effect/Result"
import * as Bytes from "./Bytes.ts"
import type { SparseCsr } from "./gen/TinkerPublic.gen.ts"

/** Copies the stored cells of a sparse matrix `[rows, columns]` into `dense`, which must be all zeros. */
export const fill = <A extends Int32Array | Float32Array>(
  dense: A,
  values: A,
  { colIndices, crowIndices }: SparseCsr,
  [rows = 0, of = 0]: ReadonlyArray<number>
): Result.Result<A, string> =>
  Result.gen(function*() {
    const crow = yield* Result.mapError(Bytes.toInt64(crowIndices), (detail) => `crow indices: ${detail}`)
    const columns = yield* Result.mapError(Bytes.toInt64(colIndices), (detail) => `column indices: ${detail}`)
    const last = Number(crow.at(-1) ?? -1n)
    if (crow.length !== rows + 1 || last !== values.length || columns.length !== values.length) {
      return yield* Result.fail("the indices do not match the values")
    }
    let at = 0
    for (let row = 0; row < rows; row++) {
      const end = Number(crow[row + 1])
      if (Number(crow[row]) !== at || end < at) return yield* Result.fail("crow indices do not rise from 0")
      for (; at < end; at++) {
        const column = Number(columns[at])
        if (!(column >= 0 && column < of)) return yield* Result.fail(`column index ${column}, expected 0 to ${of - 1}`)
        dense[row * of + column] = values[at] ?? 0
      }
    }
    return dense
  })
