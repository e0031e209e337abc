import * as MicroBatch from "@effect-rl/engine/runtime/MicroBatch"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const Lengths = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })))

describe("MicroBatch", () => {
  it.prop("keeps order and all items, fills pieces up, and never goes over the limit with more than one item", [
    Lengths
  ], ([lengths]) => {
    const items = lengths.map((length) => ({ tokens: new Int32Array(length) }))
    const pieces = MicroBatch.split(items, 16)
    assert.deepStrictEqual(pieces.flat(), items)
    const rows = pieces.map((piece) => piece.reduce((sum, { tokens }) => sum + tokens.length, 0))
    for (const [index, piece] of pieces.entries()) {
      assert.isTrue(piece.length === 1 || (rows[index] ?? 0) <= 16)
      const next = pieces[index + 1]?.[0]
      if (next !== undefined) assert.isAbove((rows[index] ?? 0) + next.tokens.length, 16)
    }
  })
})
