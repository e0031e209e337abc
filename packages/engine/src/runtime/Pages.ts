/** A key-value cache in pages of equal size. Sequences with a common prefix hold the same pages, which count their holders. */

/** Positions per page. Small pages waste less in the last page of a sequence; large pages let attention read longer runs. */
export const pageSize = 32

/** The number of positions, rounded up to whole pages. */
export const rounded = (positions: number): number => Math.ceil(positions / pageSize) * pageSize

/** Consecutive pages. */
interface Run {
  readonly start: number
  readonly length: number
}

export class Pages {
  private readonly holders: Int32Array
  private unheld: number

  constructor(count: number) {
    this.holders = new Int32Array(count)
    this.unheld = count
  }

  /** The number of pages without a holder. */
  get free(): number {
    return this.unheld
  }

  /** Takes free pages in as few contiguous runs as possible; undefined if too few are free. */
  take(count: number): ReadonlyArray<number> | undefined {
    if (count > this.unheld) return undefined
    const taken: Array<number> = []
    while (taken.length < count) {
      const { length, start } = this.bestRun(count - taken.length)
      for (let page = start; page < start + length; page++) {
        this.holders[page] = 1
        taken.push(page)
      }
    }
    this.unheld -= count
    return taken
  }

  /** The first `wanted` pages of the shortest free run that is long enough, or otherwise the longest free run. */
  private bestRun(wanted: number): Run {
    let best: Run = { start: 0, length: 0 }
    for (let start = 0; start < this.holders.length; start++) {
      let end = start
      while (this.holders[end] === 0) end++
      const length = end - start
      if (best.length < wanted ? length > best.length : length >= wanted && length < best.length) {
        best = { start, length }
      }
      start = end
    }
    return { start: best.start, length: Math.min(best.length, wanted) }
  }

  /** Adds a holder to pages that already have one. */
  hold(pages: ReadonlyArray<number>) {
    for (const page of pages) this.holders[page] = this.holdersOf(page) + 1
  }

  /** Releases pages. A page becomes free when its last holder releases it. */
  release(pages: ReadonlyArray<number>) {
    for (const page of pages) {
      const others = this.holdersOf(page) - 1
      this.holders[page] = others
      if (others === 0) this.unheld++
    }
  }

  private holdersOf(page: number): number {
    const holders = this.holders[page] ?? 0
    if (holders === 0) throw new RangeError(`page ${page} of ${this.holders.length} has no holder`)
    return holders
  }
}
