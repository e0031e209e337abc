import * as PrefixTree from "@effect-rl/engine/model/PrefixTree"
import { assert, describe, it } from "@effect/vitest"
import { Array, Schema } from "effect"

const Token = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 }))
const Sequences = Schema.Array(Schema.Array(Schema.Tuple([Token, Schema.Boolean])).check(Schema.isMaxLength(12)))

/** The rows that a row sees according to the segments, ending with itself. */
const seen = ({ segments }: PrefixTree.PrefixTree, row: number): ReadonlyArray<number> => {
  const own = segments.find(({ place, rows }) => place <= row && row < place + rows)
  if (own === undefined) throw new RangeError(`row ${row} is in no segment`)
  const above: Array<number> = []
  for (let at = segments[own.parent]; at !== undefined; at = segments[at.parent]) {
    above.unshift(...Array.makeBy(at.rows, (i) => (at?.place ?? 0) + i))
  }
  return [...above, ...Array.makeBy(row - own.place + 1, (i) => own.place + i)]
}

const branch = (...tokens: ReadonlyArray<number>): PrefixTree.Branch => ({ tokens: Int32Array.from(tokens) })

describe("PrefixTree", () => {
  it.prop(
    "gives each sequence exactly its tokens, in order",
    [Sequences],
    ([all]) => {
      const branches = all.map((sequence) => branch(...sequence.map(([token]) => token)))
      const tree = PrefixTree.make(branches)
      branches.forEach(({ tokens }, index) => {
        const rows = Array.fromIterable(tree.rowsB[index] ?? [])
        assert.deepStrictEqual(rows.map((row) => tree.ids[row]), Array.fromIterable(tokens))
        assert.deepStrictEqual(rows.map((row) => tree.positions[row]), rows.map((_, t) => t))
        rows.forEach((row, t) => assert.deepStrictEqual(seen(tree, row), rows.slice(0, t + 1)))
      })
    }
  )

  it.prop("has one row for each distinct prefix", [Sequences], ([all]) => {
    const texts = all.map((sequence) => sequence.map(([token]) => token))
    const prefixes = new Set(texts.flatMap((text) => text.map((_, t) => text.slice(0, t + 1).join())))
    assert.strictEqual(PrefixTree.make(texts.map((text) => branch(...text))).ids.length, prefixes.size)
  })

  it.prop("orders rows by whether a gradient passes through, starts or never arrives", [Sequences], ([all]) => {
    const branches = all.map((sequence): PrefixTree.Branch => ({
      tokens: Int32Array.from(sequence, ([token]) => token),
      learned: Uint8Array.from(sequence, ([, isLearned]) => isLearned ? 1 : 0)
    }))
    const tree = PrefixTree.make(branches)
    const learned = new Set(
      branches.flatMap(({ learned }, index) =>
        Array.fromIterable(tree.rowsB[index] ?? []).filter((_, t) => learned?.[t] === 1)
      )
    )
    const reached = new Set([...learned].flatMap((row) => seen(tree, row)))
    const rows = Array.makeBy(tree.ids.length, (row) => row)
    const stateOf = (row: number) => learned.has(row) ? 1 : reached.has(row) ? 0 : 2
    assert.deepStrictEqual(rows.map(stateOf), rows.map(stateOf).sort())
    assert.strictEqual(tree.reached.rows, reached.size)
    assert.strictEqual(tree.through.rows, reached.size - learned.size)
    assert.strictEqual(
      tree.segments.slice(0, tree.reached.segments).reduce((sum, { rows }) => sum + rows, 0),
      reached.size
    )
  })

  it("splits segments only where sequences diverge", () => {
    const { segments } = PrefixTree.make([branch(1, 2, 3, 4), branch(1, 2), branch(1, 2, 5)])
    assert.deepStrictEqual(segments, [
      { place: 0, before: 0, rows: 2, parent: -1 },
      { place: 2, before: 0, rows: 2, parent: 0 },
      { place: 4, before: 0, rows: 1, parent: 0 }
    ])
  })
})
