/** The segments of a sampling step: the sequences' rows, and the cached positions before them, without duplicates. */
import type * as Batch from "../model/Batch.ts"

/** Positions `start` to `end` (exclusive) of a sequence, stored contiguously in the cache from `place` on. */
export interface Stretch {
  readonly place: number
  readonly start: number
  readonly end: number
}

/** Merges a sequence's pages into stretches of adjacent pages. */
export const stretchesOf = (pages: ReadonlyArray<number>, pageSize: number): ReadonlyArray<Stretch> => {
  const stretches: Array<Stretch> = []
  for (const [index, page] of pages.entries()) {
    const last = stretches.at(-1)
    const [place, start] = [page * pageSize, index * pageSize]
    const isNeighbour = last !== undefined && last.place + start - last.start === place
    const stretch = isNeighbour ? last : { place, start }
    stretches.splice(stretches.length - Number(isNeighbour), 1, { ...stretch, end: start + pageSize })
  }
  return stretches
}

export class PageSegments {
  readonly all: Array<Batch.Segment> = []
  /**
   * Segments without rows, by their end in the cache. They can be shared, since all sequences that hold a page have the same tokens up to
   * the page's end.
   */
  private readonly continued = new Map<number, number>()

  /** Adds the rows `from` to `to` (exclusive) of a sequence whose rows before `from` are in the cache. */
  add(stretches: ReadonlyArray<Stretch>, from: number, to: number) {
    let parent = -1
    for (const stretch of stretches) {
      const { end, place, start } = stretch
      if (start >= to) break
      const first = Math.max(from, start)
      parent = end <= from
        ? this.whole(stretch, parent)
        : this.push({ place, before: first - start, rows: Math.min(end, to) - first, parent })
    }
  }

  private whole({ end, place, start }: Stretch, parent: number): number {
    const length = end - start
    const known = this.continued.get(place + length)
    if (known !== undefined) return known
    const segment = this.push({ place, before: length, rows: 0, parent })
    this.continued.set(place + length, segment)
    return segment
  }

  private push(segment: Batch.Segment): number {
    this.all.push(segment)
    return this.all.length - 1
  }
}
