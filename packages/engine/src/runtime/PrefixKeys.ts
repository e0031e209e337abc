/** Hashes of a sequence's prefixes, which find equal prefixes without comparing every sequence. */

/** The number of tokens in a block. Prefixes of whole blocks have keys. */
export const blockSize = 16

/** A prefix length and the prefix's key. Different prefixes may have the same key. */
export interface Beginning {
  readonly length: number
  readonly key: number
}

/** The key of the empty prefix, for sequences of one owner: the number of a set of weights, optionally after the number of its model. */
export const root = (...owner: ReadonlyArray<number>): number => owner.reduce(extend, 0x811c9dc5)

/** The key of a prefix extended by one token. */
export const extend = (key: number, token: number): number => {
  const mixed = Math.imul(key ^ token, 0x01000193)
  return Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) | 0
}

/** The prefix of `length` tokens and all shorter prefixes of whole blocks, longest first. */
export const beginnings = (root: number, tokens: Int32Array, length: number): ReadonlyArray<Beginning> => {
  const found: Array<Beginning> = []
  let key = root
  for (let t = 0; t < length; t++) {
    key = extend(key, tokens[t] ?? 0)
    if ((t + 1) % blockSize === 0 || t + 1 === length) found.push({ length: t + 1, key })
  }
  return found.reverse()
}
