import * as PrefixTree from "@effect-rl/engine/model/PrefixTree"
import * as MicroBatch from "@effect-rl/engine/runtime/MicroBatch"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const Texts = Schema.Array(
  Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })))
    .check(Schema.isMinLength(1), Schema.isMaxLength(20))
)

const itemOf = (tokens: ReadonlyArray<number>): MicroBatch.Sized => ({
  tokens: Int32Array.from(tokens),
  inputs: { targetTokens: Int32Array.from(tokens) }
})

const limits = { rows: 16, sharedRows: 16, targets: 1000 }

const sizes = (items: ReadonlyArray<MicroBatch.Sized>, pieces: ReadonlyArray<ReadonlyArray<number>>) =>
  pieces.map((piece) => piece.map((index) => items[index]?.tokens.length))

describe("MicroBatch", () => {
  it.prop(
    "keeps all items, with several items in a piece only within the limits",
    [Texts],
    ([texts]) => {
      const items = texts.map(itemOf)
      const pieces = MicroBatch.split(items, { ...limits, targets: 40 })
      assert.deepStrictEqual(pieces.flat().sort((left, right) => left - right), items.map((_, index) => index))
      for (const piece of pieces) {
        const own = piece.flatMap((index) => items[index] ?? [])
        const targets = own.reduce((sum, { tokens }) => sum + tokens.length, 0)
        assert.isTrue(piece.length === 1 || PrefixTree.make(own).ids.length <= 16 && targets <= 40)
      }
    }
  )

  it("does not depend on the order of the data", () => {
    const items = [[1, 2, 3], [5], [1, 2, 4], [2, 2], [1, 2]].map(itemOf)
    const contents = (all: ReadonlyArray<MicroBatch.Sized>) =>
      MicroBatch.split(all, { ...limits, rows: 4 }).map((piece) => piece.map((index) => all[index]?.tokens))
    assert.deepStrictEqual(contents(items.toReversed()), contents(items))
  })

  it("groups items with common prefixes and counts shared tokens once", () => {
    const items = [[1, 2, 3, 4, 5, 6, 7], [9, 9, 9, 9], [1, 2, 3, 4, 5, 6, 8], [1, 2, 3, 4, 5, 6, 9]].map(itemOf)
    assert.deepStrictEqual(MicroBatch.split(items, { ...limits, rows: 9 }), [[0, 2, 3], [1]])
  })

  it("exceeds its row limit, up to sharedRows, if splitting would recompute a long prefix", () => {
    const prefix = Array.from({ length: 10 }, () => 1)
    const items = [1, 2, 3, 4].map((last) => itemOf([...prefix, last, last, last]))
    assert.deepStrictEqual(sizes(items, MicroBatch.split(items, limits)), [[13, 13], [13, 13]])
    assert.deepStrictEqual(sizes(items, MicroBatch.split(items, { ...limits, sharedRows: 20 })), [[13, 13, 13], [13]])
  })
})
