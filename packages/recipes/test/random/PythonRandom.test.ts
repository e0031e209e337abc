import * as MersenneTwister from "@effect-rl/recipes/random/MersenneTwister"
import * as PythonRandom from "@effect-rl/recipes/random/PythonRandom"
import { assert, describe, it } from "@effect/vitest"

// What CPython 3 prints.
describe("PythonRandom", () => {
  it("matches random.Random(0).sample(range(1024), 1024)", () => {
    const sample = Array.from(PythonRandom.sample(0, 1024))
    assert.deepStrictEqual(sample.slice(0, 8), [788, 776, 911, 430, 41, 265, 988, 523])
    assert.deepStrictEqual(sample.slice(921, 926), [924, 389, 81, 284, 710])
  })

  it("matches random.Random(42).randint(0, 1000)", () => {
    const next = PythonRandom.below(42)
    assert.deepStrictEqual(Array.from({ length: 6 }, () => next(1001)), [654, 114, 25, 759, 281, 250])
  })

  it("ignores the sign of the seed", () => {
    assert.deepStrictEqual(PythonRandom.sample(-7, 20), PythonRandom.sample(7, 20))
  })

  it.for([17, 100])("draws a permutation of its range (%i)", (length) => {
    const all = Array.from({ length }, (_, index) => index)
    assert.sameMembers(Array.from(PythonRandom.sample(length, length)), all)
    assert.notDeepEqual(PythonRandom.sample(2 ** 40 + 5, length), PythonRandom.sample(5, length))
  })
})

it("MersenneTwister can also be seeded like NumPy's RandomState", () => {
  const next = MersenneTwister.fromSeed(0)
  assert.deepStrictEqual([next(), next()], [2357136044, 2546248239])
})
