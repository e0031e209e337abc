/** Numbers that stand for the beginnings of a sequence, so that equal beginnings can be found without comparing all. */

/** Beginnings of a multiple of this many tokens have a key. */
export const blockSize = 16

/** A beginning and its key; unequal ones may have the same. */
export interface Beginning {
  readonly length: number
  readonly key: number
}

/** The key of no tokens, for sequences of one model and one set of weights. */
export const root = (...owner: ReadonlyArray<number>): number => owner.reduce(extend, 0x811c9dc5)

/** The key of one more token. */
export const extend = (key: number, token: number): number => {
  const mixed = Math.imul(key ^ token, 0x01000193)
  return Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) | 0
}

/** The first `length` tokens, and their beginnings of whole blocks, the longest first. */
export const beginnings = (root: number, tokens: Int32Array, length: number): ReadonlyArray<Beginning> => {
  const found: Array<Beginning> = []
  let key = root
  for (let t = 0; t < length; t++) {
    key = extend(key, tokens[t] ?? 0)
    if ((t + 1) % blockSize === 0 || t + 1 === length) found.push({ length: t + 1, key })
  }
  return found.reverse()
}
