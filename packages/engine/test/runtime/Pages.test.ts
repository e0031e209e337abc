import { Pages } from "@effect-rl/engine/runtime/Pages"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const count = 12

const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))

/** A sequence takes new pages, or also shares another sequence's first pages; or a sequence ends. */
const Change = Schema.Union([
  Schema.Struct({
    _tag: Schema.Literal("begin"),
    own: Schema.Literals([0, 1, 2, 3, 5, 13]),
    like: Index,
    shared: Index
  }),
  Schema.Struct({ _tag: Schema.Literal("end"), which: Index })
])

describe("Pages", () => {
  it.prop("are held by all sequences that share them, and freed with the last one", [
    Schema.Array(Change).check(Schema.isMaxLength(60))
  ], ([changes]) => {
    const pages = new Pages(count)
    const sequences: Array<ReadonlyArray<number>> = []
    const held = () => new Set(sequences.flat())
    for (const change of changes) {
      if (change._tag === "end") {
        const [ended = []] = sequences.splice(change.which % Math.max(1, sequences.length), 1)
        pages.release(ended)
      } else {
        const other = sequences[change.like % Math.max(1, sequences.length)] ?? []
        const shared = other.slice(0, change.shared % (other.length + 1))
        const before = held()
        const own = pages.take(change.own)
        assert.strictEqual(own === undefined, change.own > count - before.size)
        if (own !== undefined) {
          assert.isTrue(own.every((page) => page >= 0 && page < count && !before.has(page)))
          assert.strictEqual(new Set(own).size, change.own)
          pages.hold(shared)
          sequences.push([...shared, ...own])
        }
      }
      assert.strictEqual(pages.free, count - held().size)
    }
    for (const sequence of sequences) pages.release(sequence)
    assert.strictEqual(pages.free, count)
  })

  it("are taken from the best-fitting run, or from several runs if none is long enough", () => {
    const pages = new Pages(12)
    const taken = [3, 1, 2, 1, 5].map((count) => pages.take(count) ?? [])
    assert.deepStrictEqual(taken, [[0, 1, 2], [3], [4, 5], [6], [7, 8, 9, 10, 11]])
    for (const index of [0, 2, 4]) pages.release(taken[index] ?? [])
    assert.deepStrictEqual(pages.take(2), [4, 5])
    assert.deepStrictEqual(pages.take(4), [7, 8, 9, 10])
    assert.deepStrictEqual(pages.take(4), [0, 1, 2, 11])
    assert.strictEqual(pages.take(1), undefined)
  })

  it("cannot be held or released without a holder", () => {
    const pages = new Pages(2)
    const [page = -1] = pages.take(1) ?? []
    pages.release([page])
    assert.throws(() => pages.release([page]), /page 0 of 2 has no holder/)
    assert.throws(() => pages.hold([1]), /page 1 of 2 has no holder/)
    assert.throws(() => pages.release([2]), /page 2 of 2 has no holder/)
    assert.strictEqual(pages.free, 2)
  })
})
