import { Pool } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const candidate = (...scores: ReadonlyArray<number>): Pool.Candidate => ({ instruction: "", parent: null, scores })

/** Pools of candidates with scores on four problems; few values, so that ties are frequent. */
const Scores = Schema.Tuple([0, 1, 2, 3].map(() => Schema.Literals([0, 0.5, 1])))
const Pools = Schema.NonEmptyArray(Scores)
const Uniform = Schema.Literals([0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999999])

describe("the leads of a pool", () => {
  it("count the problems on which no other candidate scores higher", () => {
    assert.deepStrictEqual(Pool.leads([candidate(1, 0, 0), candidate(0, 1, 1), candidate(0, 0, 1)]), [1, 2, 0])
    assert.deepStrictEqual(Pool.leads([candidate(1, 0), candidate(1, 0)]), [2, 2])
  })

  it("are 0 for a candidate that another one dominates, also on problems on which they are equal", () => {
    assert.deepStrictEqual(Pool.leads([candidate(0, 0, 1), candidate(0, 1, 1)]), [0, 3])
  })

  it.prop("are never all 0", [Pools], ([scores]) => {
    assert.isAbove(Math.max(...Pool.leads(scores.map((row) => candidate(...row)))), 0)
  })

  it.prop("are above 0 only for candidates that no other candidate beats on every problem", [Pools], ([scores]) => {
    const pool = scores.map((row) => candidate(...row))
    for (const [index, count] of Pool.leads(pool).entries()) {
      const isBeaten = scores.some((other) => other.every((score, problem) => score > (scores[index]?.[problem] ?? 0)))
      assert.isFalse(count > 0 && isBeaten)
    }
  })
})

describe("a draw from a pool", () => {
  it("has a probability in proportion to the problems that a candidate leads", () => {
    const pool = [candidate(1, 0, 0, 0), candidate(0, 1, 1, 1)]
    const drawn = Array.from({ length: 100 }, (_, index) => Pool.draw(pool, index / 100))
    assert.strictEqual(drawn.filter((index) => index === 0).length, 25)
  })

  it.prop("is a candidate that leads a problem", [Pools, Uniform], ([scores, uniform]) => {
    const pool = scores.map((row) => candidate(...row))
    assert.isAbove(Pool.leads(pool)[Pool.draw(pool, uniform)] ?? 0, 0)
  })
})

describe("the best candidate", () => {
  it("is the earliest with the highest mean", () => {
    const pool = [candidate(0, 0), candidate(1, 0), candidate(0, 1)]
    assert.strictEqual(Pool.best(pool), pool[1])
    assert.isUndefined(Pool.best([]))
  })

  it.prop("never becomes worse when a candidate joins", [Pools, Scores], ([scores, joining]) => {
    const pool = scores.map((row) => candidate(...row))
    const before = Pool.best(pool)
    const after = Pool.best([...pool, candidate(...joining)])
    assert.isTrue(before !== undefined && after !== undefined && Pool.score(after) >= Pool.score(before))
  })
})
