import { DatasetsOrder } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"

const rows = (length: number) => Array.from({ length }, (_, index) => index)

// The first ten numbers of numpy 2.4.6's default_rng(seed).permutation(length), with which the Python library datasets shuffles.
describe("DatasetsOrder.shuffled", () => {
  it.for(
    [
      [10, 0, [4, 6, 2, 7, 3, 5, 9, 0, 8, 1]],
      [10, 1, [8, 4, 7, 0, 1, 2, 5, 9, 6, 3]],
      [100, 42, [59, 21, 56, 18, 33, 42, 50, 27, 92, 71]],
      [7473, 0, [5441, 2360, 5646, 1485, 1469, 824, 5624, 3950, 750, 2125]],
      [5, 2 ** 33 + 7, [0, 2, 1, 3, 4]]
    ] as const
  )("begins %i rows with seed %i as datasets does", ([length, seed, expected]) => {
    const shuffled = DatasetsOrder.shuffled(rows(length), seed)
    assert.deepStrictEqual(shuffled.slice(0, 10), [...expected])
    assert.sameMembers([...shuffled], rows(length))
  })

  it("uses the cookbook's seed, 0, by default", () => {
    assert.deepStrictEqual(DatasetsOrder.shuffled(rows(50)), DatasetsOrder.shuffled(rows(50), 0))
    assert.deepStrictEqual(DatasetsOrder.shuffled([]), [])
  })
})
