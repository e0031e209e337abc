import { Tournament } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"

const pairs = (members: number, pattern: Tournament.Pattern, groupSize: number) =>
  Tournament.matchups(members, pattern, groupSize).map(({ a, b }) => [a, b])

describe("matchups", () => {
  it("of six in threes, one way", () => {
    assert.deepStrictEqual(pairs(6, "all_pairs_one_way", 3), [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]])
  })

  it("of eight in fours, both ways, are 24", () => {
    const played = pairs(8, "all_pairs_both_ways", 4)
    assert.strictEqual(played.length, 24)
    assert.deepStrictEqual(played.slice(0, 4), [[0, 1], [0, 2], [0, 3], [1, 0]])
  })

  it("leave out a member that is alone at the end", () => {
    assert.strictEqual(pairs(5, "all_pairs_both_ways", 4).flat().filter((member) => member === 4).length, 0)
  })

  it("are of all members where the group is larger", () => {
    assert.deepStrictEqual(pairs(3, "all_pairs_one_way", 100), [[0, 1], [0, 2], [1, 2]])
  })
})

describe("wins minus losses", () => {
  const matchups = Tournament.matchups(3, "all_pairs_one_way", 3)

  it("are a mean over a member's matchups", () => {
    assert.deepStrictEqual(Tournament.winsMinusLosses(3, matchups, [1, 1, 1]), [-1, 0, 1])
    assert.deepStrictEqual(Tournament.winsMinusLosses(3, matchups, [0.5, 0, -1]), [-0.25, 0.75, -0.5])
  })

  it("are 0 without one", () => {
    assert.deepStrictEqual(Tournament.winsMinusLosses(2, [], []), [0, 0])
  })
})
