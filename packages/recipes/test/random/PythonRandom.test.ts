import { MersenneTwister, PythonRandom } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Array as Arr } from "effect"

const order = (length: number) => Uint32Array.from({ length }, (_, index) => index)

const shuffled = (seed: number, length: number) => {
  const values = order(length)
  PythonRandom.make(seed).shuffle(values)
  return Arr.fromIterable(values)
}

// What CPython 3 prints.
describe("PythonRandom", () => {
  it("gives the numbers of random.Random(0).random()", () => {
    const { random } = PythonRandom.make(0)
    assert.deepStrictEqual([random(), random()], [0.8444218515250481, 0.7579544029403025])
  })

  it("gives those of random.Random(42).randint(0, 1000)", () => {
    const { below } = PythonRandom.make(42)
    assert.deepStrictEqual(Arr.makeBy(6, () => below(1001)), [654, 114, 25, 759, 281, 250])
  })

  it("shuffles as random.Random(0).shuffle", () => {
    assert.deepStrictEqual(shuffled(0, 171).slice(0, 8), [68, 110, 108, 170, 109, 95, 81, 45])
  })

  it("samples as random.Random(0).sample(range(1024), 1024)", () => {
    const sample = Arr.fromIterable(PythonRandom.make(0).sample(1024))
    assert.deepStrictEqual(sample.slice(0, 8), [788, 776, 911, 430, 41, 265, 988, 523])
    assert.deepStrictEqual(sample.slice(921, 926), [924, 389, 81, 284, 710])
  })

  it("is seeded by more than 32 bits", () => {
    const random = PythonRandom.make(2 ** 40 + 5)
    assert.deepStrictEqual([random.random(), random.random()], [0.5043802970418443, 0.2686044399723282])
    assert.deepStrictEqual(Arr.makeBy(8, () => random.choice([0.2, 0.3, 0.5])), [2, 2, 2, 2, 2, 2, 0, 2])
    const values = order(9)
    random.shuffle(values)
    assert.deepStrictEqual(Arr.fromIterable(values), [0, 7, 8, 4, 1, 6, 5, 3, 2])
    assert.deepStrictEqual(Arr.fromIterable(random.sample(9)), [1, 3, 7, 0, 5, 6, 4, 8, 2])
  })

  it("takes a negative seed for its magnitude", () => {
    assert.deepStrictEqual(shuffled(-7, 20), shuffled(7, 20))
  })

  it.for([2, 17, 100])("keeps what it shuffles (%i)", (length) => {
    assert.sameMembers(shuffled(length, length), Arr.fromIterable(order(length)))
  })
})

it("MersenneTwister is seeded as NumPy's RandomState too", () => {
  const next = MersenneTwister.fromSeed(0)
  assert.deepStrictEqual([next(), next()], [2357136044, 2546248239])
})
