import { Key, Seed } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))

const first = (iteration: number, group: string, member: number): Key.TurnKey => ({
  iteration,
  group,
  member,
  attempt: 0,
  turn: 0
})

describe("a turn's seed", () => {
  it.prop(
    "is groupSeed + k for member k's first prompt",
    [seed, small, Schema.String, small],
    ([run, iteration, group, k]) => {
      const groupSeed = Seed.turn(run, first(iteration, group, 0))
      assert.strictEqual(Seed.turn(run, first(iteration, group, k)), groupSeed + k)
    }
  )

  it.prop(
    "is a non-negative int32",
    [seed, small, Schema.String, small, small],
    ([run, iteration, group, member, turn]) => {
      const found = Seed.turn(run, { ...first(iteration, group, member), turn })
      assert.isTrue(Number.isInteger(found) && found >= 0 && found < 2 ** 31)
    }
  )

  it("depends on every part of its key, and on the run", () => {
    const key: Key.TurnKey = { iteration: 1, group: "a", member: 2, attempt: 3, turn: 4 }
    const others = [
      Seed.turn(8, key),
      Seed.turn(7, { ...key, iteration: 2 }),
      Seed.turn(7, { ...key, group: "b" }),
      Seed.turn(7, { ...key, member: 3 }),
      Seed.turn(7, { ...key, attempt: 4 }),
      Seed.turn(7, { ...key, turn: 5 })
    ]
    assert.lengthOf(new Set([Seed.turn(7, key), ...others]), 7)
  })

  it("is different for each turn of a run", () => {
    const seeds = Array.from(
      { length: 50 },
      (_, group) => Array.from({ length: 20 }, (_, turn) => Seed.turn(1, { ...first(0, `group/${group}`, 0), turn }))
    ).flat()
    assert.lengthOf(new Set(seeds), seeds.length)
  })
})

describe("Seed.derive", () => {
  it("distinguishes parts, even if their concatenation is equal", () => {
    assert.notStrictEqual(Seed.derive(0, "ab", "c"), Seed.derive(0, "a", "bc"))
    assert.notStrictEqual(Seed.derive(0, 1, 23), Seed.derive(0, 12, 3))
  })

  it.prop("leaves room to add member indices within int32", [Schema.Int, Schema.String], ([seed, part]) => {
    const derived = Seed.derive(seed, part)
    assert.isTrue(Number.isInteger(derived) && derived >= 0 && derived < 2 ** 30)
  })
})

describe("Seed.uniform", () => {
  it.prop("gives equal numbers in [0, 1) for equal seeds", [seed], ([seed]) => {
    const one = Seed.uniform(seed)
    const other = Seed.uniform(seed)
    for (let i = 0; i < 20; i++) {
      const value = one()
      assert.strictEqual(other(), value)
      assert.isTrue(value >= 0 && value < 1)
    }
  })

  it("differs between seeds with equal low 32 bits", () => {
    const seeds = [1, 2 ** 32 + 1, 2 ** 33 + 1, 2 ** 52 + 1]
    assert.strictEqual(new Set(seeds.map((seed) => Seed.uniform(seed)())).size, seeds.length)
  })

  it("is uniform on [0, 1), and neighbouring seeds are uncorrelated", () => {
    const count = 10_000
    const firsts = Array.from({ length: count }, (_, seed) => Seed.uniform(seed)())
    const next = Seed.uniform(1)
    for (const values of [firsts, Array.from({ length: count }, next)]) {
      for (let tenth = 0; tenth < 10; tenth++) {
        const share = values.filter((value) => Math.floor(value * 10) === tenth).length / count
        assert.closeTo(share, 0.1, 0.015)
      }
    }
  })
})

describe("Seed.permutation", () => {
  it.prop("contains every index once, and is the same for the same seed", [small, seed], ([length, seed]) => {
    const order = Seed.permutation(length, seed)
    assert.deepStrictEqual(order.toSorted(), Uint32Array.from({ length }, (_, index) => index))
    assert.deepStrictEqual(Seed.permutation(length, seed), order)
  })

  it("yields every order of three about equally often", () => {
    const counts = new Map<string, number>()
    for (let seed = 0; seed < 6000; seed++) {
      const order = Seed.permutation(3, seed).join("")
      counts.set(order, (counts.get(order) ?? 0) + 1)
    }
    assert.lengthOf([...counts], 6)
    for (const count of counts.values()) assert.closeTo(count, 1000, 150)
  })
})

it("the text of a key is a path", () => {
  assert.strictEqual(
    Key.toString({ iteration: 7, group: "gsm8k/12", member: 3, attempt: 0, turn: 1 }),
    "7/gsm8k/12/m3/a0/t1"
  )
})
