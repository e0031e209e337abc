/** The segments of a sampling step: the rows of sequences, and the cached positions before them, each once. */
import type * as Batch from "../model/Batch.ts"

/** Positions of a sequence, from `start` to `end` (exclusive), that lie side by side in the cache from `place` on. */
export interface Stretch {
  readonly place: number
  readonly start: number
  readonly end: number
}

/** A sequence's pages, of which those that are neighbours are one stretch. */
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
  /** Segments without rows by where they end in the cache, as all sequences that hold a page begin alike up to it. */
  private readonly continued = new Map<number, number>()

  /** Adds the rows from `from` to `to` (exclusive) of a sequence that is computed up to `from`. */
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
