/** Finds the cached sequence that shares the longest prefix with a prompt. */
import * as PrefixKeys from "./PrefixKeys.ts"

/** A sequence whose first tokens are in the cache. */
export interface Cached {
  /** Identifies the weights that computed the sequence. */
  readonly weights: number
  /** The length of the sequence's prompt. Sequences are most likely to diverge after their prompt. */
  readonly promptLength: number
  /** The number of the sequence's tokens in the cache. */
  readonly computed: number
  readonly tokenAt: (position: number) => number
}

/** How much of a sequence has been indexed. */
interface Indexed {
  length: number
  key: number
  readonly keys: Array<number>
}

export class PrefixIndex<C extends Cached> {
  private readonly byKey = new Map<number, C>()
  private readonly indexed = new Map<C, Indexed>()

  /** Indexes the positions computed since the last call. */
  update(cached: C) {
    const state = this.indexed.get(cached) ?? { length: 0, key: PrefixKeys.root(cached.weights), keys: [] }
    this.indexed.set(cached, state)
    for (; state.length < cached.computed; state.length++) {
      state.key = PrefixKeys.extend(state.key, cached.tokenAt(state.length))
      const length = state.length + 1
      if (length % PrefixKeys.blockSize !== 0 && length !== cached.promptLength - 1) continue
      state.keys.push(state.key)
      this.byKey.set(state.key, cached)
    }
  }

  remove(cached: C) {
    for (const key of this.indexed.get(cached)?.keys ?? []) {
      if (this.byKey.get(key) === cached) this.byKey.delete(key)
    }
    this.indexed.delete(cached)
  }

  /**
   * A cached sequence that shares the longest indexed prefix with the first `length` tokens, and the length of their whole common prefix.
   * Undefined if no sequence shares an indexed prefix.
   */
  longest(weights: number, tokens: Int32Array, length: number): { cached: C; length: number } | undefined {
    for (const { key, length: least } of PrefixKeys.beginnings(PrefixKeys.root(weights), tokens, length)) {
      const cached = this.byKey.get(key)
      if (cached === undefined || cached.weights !== weights) continue
      const shared = sharedLength(cached, tokens, length)
      if (shared >= least) return { cached, length: shared }
    }
    return undefined
  }
}

const sharedLength = ({ computed, tokenAt }: Cached, tokens: Int32Array, most: number): number => {
  let length = 0
  while (length < Math.min(computed, most) && tokenAt(length) === tokens[length]) length++
  return length
}
