/** Matrices of token ids in JSON, dense or in sparse rows. */
import * as TinkerError from "@effect-rl/core/backend/TinkerError"
import type * as Sampling from "@effect-rl/core/model/Sampling"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Ints, Numbers } from "./Numbers.ts"
import { mostCells } from "./Tensor.ts"

const Indices = Schema.optionalKey(Schema.NullOr(Ints))

export const TensorData = Schema.Struct({
  data: Numbers,
  dtype: Schema.Literals(["int64", "float32"]),
  shape: Indices,
  sparse_crow_indices: Indices,
  sparse_col_indices: Indices
})
export type TensorData = typeof TensorData.Type

/** Fills the cells of a sparse matrix in which no token is requested. */
const empty = -1

const place = (tokens: Int32Array, { data, ...indices }: TensorData, candidates: number): boolean => {
  const { sparse_col_indices: columns, sparse_crow_indices: rows } = indices
  if (rows === undefined || rows === null) {
    tokens.set(data.map(Number))
    return data.length === tokens.length
  }
  if (columns?.length !== data.length || rows.at(-1) !== data.length) return false
  for (let row = 0; row + 1 < rows.length; row++) {
    for (let at = rows[row] ?? 0; at < (rows[row + 1] ?? 0); at++) {
      const column = columns[at] ?? candidates
      if (!(column >= 0 && column < candidates)) return false
      tokens[row * candidates + column] = Number(data[at])
    }
  }
  return (rows.length - 1) * candidates === tokens.length
}

/** Target candidates for each of `rows` positions. Fails unless the tensor is an int64 matrix with `rows` rows. */
export const toTargets = (
  field: string,
  tensor: TensorData,
  rows: number
): Effect.Effect<Sampling.PromptTargets, TinkerError.Rejected> =>
  Effect.suspend(() => {
    const [found = 0, candidates = 0] = tensor.shape ?? []
    const refuse = (detail: string) => Effect.fail(new TinkerError.Rejected({ detail: `${field}: ${detail}` }))
    if (tensor.dtype !== "int64") return refuse(`dtype is ${tensor.dtype}, expected int64`)
    if (tensor.shape?.length !== 2 || found !== rows || candidates < 1 || rows * candidates > mostCells) {
      return refuse(
        `shape is [${tensor.shape?.join(", ") ?? ""}], expected ${rows} rows, of at most ${mostCells} cells in all`
      )
    }
    const tokens = new Int32Array(rows * candidates).fill(empty)
    return tensor.data.length <= tokens.length && place(tokens, tensor, candidates)
      ? Effect.succeed({ tokens, candidates })
      : refuse(`data has ${tensor.data.length} values that do not fill shape [${rows}, ${candidates}]`)
  })

export const fromTargets = ({ candidates, tokens }: Sampling.PromptTargets): TensorData => ({
  data: Array.from(tokens),
  dtype: "int64",
  shape: [tokens.length / candidates, candidates]
})
