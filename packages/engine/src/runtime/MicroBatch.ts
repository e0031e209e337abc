/** Splits the data of one pass into micro-batches that workers compute independently. */
import * as PrefixTree from "../model/PrefixTree.ts"

/** Maximum rows of a micro-batch: small enough to interleave with sampling, large enough for the kernels to run at full speed. */
export const maximumRows = 512

export interface Limits {
  /** Maximum rows of a micro-batch. */
  readonly rows: number
  /** Maximum rows of a micro-batch whose sequences share a prefix longer than a quarter of `rows`. */
  readonly sharedRows: number
  /** Maximum targets of a micro-batch. */
  readonly targets: number
}

/** The tokens and targets of a datum. */
export interface Sized {
  readonly tokens: Int32Array
  readonly inputs: { readonly targetTokens: Int32Array }
}

/**
 * Groups data with common prefixes into micro-batches, given as indices into `items`. Each micro-batch stays within the limits, counting
 * tokens of a shared prefix once; a datum above the limits forms its own micro-batch. The split depends only on the data, so sums do not
 * depend on the number of workers.
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
