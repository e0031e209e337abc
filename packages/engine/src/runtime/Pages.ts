/** A cache of key-value positions in pages of equal size. Sequences that begin alike hold the same pages, which are counted. */

/** Positions of a page: few, as the last page of a sequence is partly empty, but enough for attention to read in one go. */
export const pageSize = 32

/** The number of positions, rounded up to whole pages. */
export const rounded = (positions: number): number => Math.ceil(positions / pageSize) * pageSize

export class Pages {
  /** The last one is the next to be given out. */
  private readonly unused: Array<number>
  private readonly holders: Int32Array

  constructor(count: number) {
    this.unused = Array.from({ length: count }, (_, page) => count - 1 - page)
    this.holders = new Int32Array(count)
  }

  /** Pages that nobody holds. */
  get free(): number {
    return this.unused.length
  }

  /** Takes free pages; none, and undefined, where there are fewer. */
  take(count: number): ReadonlyArray<number> | undefined {
    if (count > this.unused.length) return undefined
    const taken = this.unused.splice(this.unused.length - count).reverse()
    for (const page of taken) this.holders[page] = 1
    return taken
  }

  /** Adds a holder to pages that have some. */
  hold(pages: ReadonlyArray<number>) {
    for (const page of pages) this.holders[page] = this.holdersOf(page) + 1
  }

  /** Releases pages, which are free once their last holder has. The first is given out first, so that neighbours stay together. */
  release(pages: ReadonlyArray<number>) {
    for (const page of pages.toReversed()) {
      const others = this.holdersOf(page) - 1
      this.holders[page] = others
      if (others === 0) this.unused.push(page)
    }
  }

  private holdersOf(page: number): number {
    const holders = this.holders[page] ?? 0
    if (holders === 0) throw new RangeError(`nobody holds page ${page} of ${this.holders.length}`)
    return holders
  }
}
