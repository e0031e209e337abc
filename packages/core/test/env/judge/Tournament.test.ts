import { Tournament } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"

const pairs = (members: number, pattern: Tournament.Pattern, groupSize: number) =>
  Tournament.matchups(members, pattern, groupSize).map(({ a, b }) => [a, b])

describe("Tournament.matchups", () => {
  it("pairs six members in subgroups of three, each pair in one order", () => {
    assert.deepStrictEqual(pairs(6, "all_pairs_one_way", 3), [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]])
  })

  it("gives 24 matchups for eight members in subgroups of four, each pair in both orders", () => {
    const played = pairs(8, "all_pairs_both_ways", 4)
    assert.strictEqual(played.length, 24)
    assert.deepStrictEqual(played.slice(0, 4), [[0, 1], [0, 2], [0, 3], [1, 0]])
  })

  it("leaves out a member that is alone at the end", () => {
    assert.strictEqual(pairs(5, "all_pairs_both_ways", 4).flat().filter((member) => member === 4).length, 0)
  })

  it("pairs all members if the subgroup size is larger than the group", () => {
    assert.deepStrictEqual(pairs(3, "all_pairs_one_way", 100), [[0, 1], [0, 2], [1, 2]])
  })
})

describe("Tournament.winsMinusLosses", () => {
  const matchups = Tournament.matchups(3, "all_pairs_one_way", 3)

  it("is a mean over a member's matchups", () => {
    assert.deepStrictEqual(Tournament.winsMinusLosses(3, matchups, [1, 1, 1]), [-1, 0, 1])
    assert.deepStrictEqual(Tournament.winsMinusLosses(3, matchups, [0.5, 0, -1]), [-0.25, 0.75, -0.5])
  })

  it("is 0 without matchups", () => {
    assert.deepStrictEqual(Tournament.winsMinusLosses(2, [], []), [0, 0])
  })
})
