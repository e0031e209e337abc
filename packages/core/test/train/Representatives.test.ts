import { Representatives } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import * as Golden from "../learn/Golden.ts"

describe("Representatives.indices", () => {
  it.each(Golden.representatives)("shows the members that tinker-cookbook shows ($id)", ({ expect, input }) => {
    assert.deepStrictEqual(Representatives.indices(input.scores, input.num_indices), expect.indices)
  })

  it("goes from the worst to the best", () => {
    assert.deepStrictEqual(Representatives.indices([3, 1, 2, 0], 2), [3, 0])
    assert.deepStrictEqual(Representatives.indices([3, 1, 2, 0], 1), [3])
  })

  it("shows nobody twice", () => {
    assert.deepStrictEqual(Representatives.indices([1, 0], 4), [1, 0])
    assert.deepStrictEqual(Representatives.indices([], 4), [])
  })
})
