import { PageSegments, stretchesOf } from "@effect-rl/engine/runtime/PageSegments"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const pageSize = 4

/** Sequences that share a prompt's pages and continue with separate pages. */
const Sequences = Schema.Struct({
  prompt: Schema.UniqueArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))),
  ownS: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))).check(Schema.isMaxLength(5)),
  isBackwards: Schema.Boolean,
  /** Rows of each sequence; the last row is in the sequence's last page. */
  rows: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
})

describe("PageSegments", () => {
  it.prop("lets the last row of each sequence see all of its positions in order", [Sequences], (
    [{ isBackwards, ownS, prompt, rows }]
  ) => {
    let next = 10
    const pagesS = ownS.map((count) => {
      const own = Array.from({ length: count }, () => next++)
      return [...prompt, ...(isBackwards ? own.reverse() : own)]
    })
    const segments = new PageSegments()
    const ends: Array<number> = []
    for (const pages of pagesS) {
      const to = pages.length * pageSize - 1
      segments.add(stretchesOf(pages, pageSize), Math.max(to - rows, 0), to)
      ends.push(segments.all.length - 1)
    }
    const seen = (index: number): ReadonlyArray<number> => {
      const segment = segments.all[index]
      if (segment === undefined) return []
      const { before, parent, place, rows } = segment
      return [...seen(parent), ...Array.from({ length: before + rows }, (_, i) => place + i)]
    }
    pagesS.forEach((pages, sequence) => {
      const positions = pages.flatMap((page) => Array.from({ length: pageSize }, (_, i) => page * pageSize + i))
      assert.deepStrictEqual(seen(ends[sequence] ?? -1), positions.slice(0, -1))
    })
    assert.strictEqual(
      segments.all.reduce((sum, segment) => sum + segment.rows, 0),
      pagesS.reduce(
        (sum, pages) => sum + Math.min(rows, pages.length * pageSize - 1),
        0
      )
    )
  })

  it("merges adjacent pages, and shares the segment that several sequences continue", () => {
    const segments = new PageSegments()
    segments.add(stretchesOf([0, 1, 2], pageSize), 10, 11)
    for (const own of [7, 5]) segments.add(stretchesOf([0, 1, own], pageSize), 8, 9)
    assert.deepStrictEqual(segments.all, [
      { place: 0, before: 10, rows: 1, parent: -1 },
      { place: 0, before: 8, rows: 0, parent: -1 },
      { place: 28, before: 0, rows: 1, parent: 1 },
      { place: 20, before: 0, rows: 1, parent: 1 }
    ])
  })
})
