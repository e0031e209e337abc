/** Cuts the data of one pass into pieces that workers compute on their own. */
import * as PrefixTree from "../model/PrefixTree.ts"

/** Most rows of a piece: small enough to interleave with sampling, large enough for the kernels to run at full speed. */
export const maximumRows = 512

export interface Limits {
  /** Rows of a piece. */
  readonly rows: number
  /** Rows of a piece whose sequences share a prefix of more than a quarter of `rows`. */
  readonly sharedRows: number
  /** Targets of a piece. */
  readonly targets: number
}

/** The tokens and targets of a datum. */
export interface Sized {
  readonly tokens: Int32Array
  readonly inputs: { readonly targetTokens: Int32Array }
}

/**
 * Pieces of data with common prefixes, by their indices in the data. Each piece stays within the limits, to which tokens of a
 * shared prefix count once; a larger datum is a piece of its own. Pieces depend on the data alone, so that sums over them do
 * not depend on the number of workers.
 */
export const split = (items: ReadonlyArray<Sized>, limits: Limits): ReadonlyArray<ReadonlyArray<number>> => {
  const pieces: Array<Array<number>> = []
  let [rows, targets] = [0, 0]
  for (const { index, shared } of PrefixTree.sort(items)) {
    const item = items[index]
    if (item === undefined) continue
    const piece = pieces.at(-1)
    const rowLimit = 4 * shared > limits.rows ? limits.sharedRows : limits.rows
    rows += item.tokens.length - shared
    targets += item.inputs.targetTokens.length
    if (piece !== undefined && rows <= rowLimit && targets <= limits.targets) piece.push(index)
    else {
      pieces.push([index])
      rows = item.tokens.length
      targets = item.inputs.targetTokens.length
    }
  }
  return pieces
}
