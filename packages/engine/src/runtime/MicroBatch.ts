/** Cuts the data of one pass into pieces that workers compute on their own. */

/** Most rows of a piece: small enough to interleave with sampling, large enough for the kernels to run at full speed. */
export const maximumRows = 512

/**
 * Pieces of at most `rowLimit` rows in the order of the data; a longer item is a piece of its own.
 * They depend on the data alone, so that sums over them do not depend on the number of workers.
 */
export const split = <A extends { readonly tokens: Int32Array }>(
  items: ReadonlyArray<A>,
  rowLimit: number
): ReadonlyArray<ReadonlyArray<A>> => {
  const pieces: Array<Array<A>> = []
  let rows = 0
  for (const item of items) {
    const last = pieces.at(-1)
    if (last === undefined || rows + item.tokens.length > rowLimit) {
      pieces.push([item])
      rows = item.tokens.length
    } else {
      last.push(item)
      rows += item.tokens.length
    }
  }
  return pieces
}
