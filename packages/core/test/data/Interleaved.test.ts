import { type InvalidOption, RLDataset } from "@effect-rl/core"
import { Interleaved } from "@effect-rl/core/environments"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Array as Arr, Effect, Exit, Schema } from "effect"
import { builder, keys, numbered, ragged } from "./Groups.ts"

class SandboxLost extends Schema.TaggedError<SandboxLost>()("SandboxLost", {}) {}

const source = (name: string, dataset: RLDataset.RLDataset<InvalidOption.InvalidOption>, weight = 1) => ({
  name,
  dataset,
  weight
})

const two = (options: Partial<Interleaved.Options> = {}, weights = [1, 1]) =>
  Interleaved.make(
    [source("a", numbered("A", 5, 5), weights[0]), source("b", numbered("B", 3, 3), weights[1])],
    { groupsPerBatch: 2, ...options }
  )

const share = (name: string, all: ReadonlyArray<string>) =>
  all.filter((key) => key.startsWith(`${name}/`)).length / all.length

describe("the order of Interleaved.make", () => {
  it.effect("draws from the sources by weight", () =>
    Effect.gen(function*() {
      const dataset = yield* two({ groupsPerBatch: 5, batches: 100 }, [0.7, 0.3])
      const all = (yield* keys(dataset)).flat()
      assert.strictEqual(all.length, 500)
      assert.closeTo(share("a", all), 0.7, 0.1)
    }))

  it.effect("depends only on the seed", () =>
    Effect.gen(function*() {
      const dataset = yield* two({ batches: 20 })
      const first = yield* keys(dataset, { seed: 1 })
      const other = yield* keys(dataset, { seed: 2 })
      assert.notDeepEqual(other, first)
      assert.deepStrictEqual(yield* keys(dataset, { seed: 1 }), first)
      assert.deepStrictEqual(yield* keys(yield* two({ batches: 20 }), { seed: 1 }), first)
      const [last] = yield* Effect.all([dataset.batch(19, 1)])
      assert.deepStrictEqual(last.map(({ key }) => key), first[19])
    }))

  it.effect("uses all groups of a source before repeating, in another order each time", () =>
    Effect.gen(function*() {
      const sources = [source("x", numbered("", 12, 4))]
      const dataset = yield* Interleaved.make(sources, { groupsPerBatch: 3, batches: 20 })
      const cycles = Arr.chunksOf((yield* keys(dataset, { seed: 5 })).flat(), 12)
      for (const cycle of cycles) assert.strictEqual(new Set(cycle).size, 12)
      assert.strictEqual(new Set(cycles.map((cycle) => cycle.join())).size, cycles.length)
    }))

  it.effect("begins with the batches of a shorter run", () =>
    Effect.gen(function*() {
      const short = yield* keys(yield* two({ batches: 3 }))
      const long = yield* keys(yield* two({ batches: 9 }))
      assert.deepStrictEqual(long.slice(0, 3), short)
    }))
})

describe("the length of Interleaved.make", () => {
  it.effect("ends when the first source is used up", () =>
    Effect.gen(function*() {
      const sources = [source("a", numbered("A", 10, 5), 0.5), source("b", numbered("B", 100, 5), 0.5)]
      assert.strictEqual((yield* Interleaved.make(sources, { groupsPerBatch: 1 })).length, 20)
    }))

  it.effect("is at least one batch, even if the groups do not fill it", () =>
    Effect.map(two({ groupsPerBatch: 100 }), ({ length }) => assert.strictEqual(length, 1)))

  it.effect("counts a shorter last batch", () =>
    Effect.gen(function*() {
      const dataset = yield* Interleaved.make([source("x", ragged(4, 4, 4, 4, 4, 4, 4, 4, 4, 2))], {
        groupsPerBatch: 38
      })
      const all = (yield* keys(dataset)).flat()
      assert.strictEqual(new Set(all).size, 38)
    }))
})

describe("Interleaved.make, used incorrectly,", () => {
  const good = numbered("G", 4, 2)
  const mistakes: ReadonlyArray<
    readonly [
      ReadonlyArray<Interleaved.Source<InvalidOption.InvalidOption>>,
      Partial<Interleaved.Options>,
      expected: string
    ]
  > = [
    [[], {}, "sources is empty, expected at least one"],
    [[source("a", good, 0)], {}, "weight of \"a\" is 0, expected a number above 0"],
    [[source("a", good, -1)], {}, "weight of \"a\" is -1"],
    [[source("a", good, NaN)], {}, "weight of \"a\" is NaN"],
    [[source("a", ragged())], {}, "length of \"a\" is 0, expected at least one batch"],
    [[source("a", ragged(0, 2))], {}, "batch 0 of \"a\" is empty, expected at least one group"],
    [[source("a", ragged(2, 3))], {}, "last batch of \"a\" is 3 groups, expected at most 2"],
    [[source("a", good), source("a", good)], {}, "name is \"a\" twice"],
    [[source("a", good)], { groupsPerBatch: 0 }, "groupsPerBatch is 0"],
    [[source("a", good)], { batches: 1.5 }, "batches is 1.5"]
  ]

  it.effect.each(mistakes)(
    "names the wrong field and value of mistake %#",
    ([sources, options, expected]) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Interleaved.make(sources, { groupsPerBatch: 1, ...options }))
        assert.strictEqual(error._tag, "InvalidOption")
        assert.include(error.message, expected)
      })
  )

  it.effect.each([-1, 4])("dies for a batch that does not exist (%i)", (index) =>
    Effect.gen(function*() {
      const dataset = yield* two({ batches: 4 })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(dataset.batch(index, 0))))
    }))

  it.effect("fails if a batch other than the last one is shorter", () =>
    Effect.gen(function*() {
      const sources = [source("x", ragged(4, 2, 4))]
      const dataset = yield* Interleaved.make(sources, { groupsPerBatch: 12, batches: 1 })
      const error = yield* Effect.flip(dataset.batch(0, 0))
      assert.include(
        error.message,
        "batch 1 of \"x\" is 2 groups, expected 4: only the last batch of a source may be shorter than its first"
      )
    }))
})

describe("Interleaved.make with more groups than can be ordered in memory", () => {
  it.effect.each([1e8, 1e12])("is refused, for example with %d batches", (length) =>
    Effect.gen(function*() {
      const long: RLDataset.RLDataset = {
        length,
        fingerprint: "long",
        batch: () => Effect.succeed([builder("one"), builder("two")])
      }
      const error = yield* Effect.flip(Interleaved.make([source("a", long)], { groupsPerBatch: 2 }))
      assert.strictEqual(error.message, `groups of "a" is ${2 * length}, expected at most 16777216`)
      const most = yield* Effect.flip(two({ batches: 1e8 }))
      assert.strictEqual(most.message, "batches is 100000000, expected a whole number from 1 to 8388608")
    }))
})

describe("the keys of Interleaved.make", () => {
  it.effect("begin with the source, and are unique even if a source repeats within a batch", () =>
    Effect.gen(function*() {
      const dataset = yield* Interleaved.make([source("x", numbered("", 2, 2))], { groupsPerBatch: 6, batches: 1 })
      const [batch = []] = yield* keys(dataset)
      assert.sameMembers(batch, ["x/0", "x/1", "x/0#2", "x/1#2", "x/0#3", "x/1#3"])
    }))
})

describe("the fingerprint of Interleaved.make", () => {
  it.effect("contains sources, weights and order, but not the run's length", () =>
    Effect.gen(function*() {
      const { fingerprint } = yield* two({ batches: 4 })
      assert.strictEqual((yield* two({ batches: 8 })).fingerprint, fingerprint)
      const others = yield* Effect.all([
        two({}, [1, 2]),
        two({ groupsPerBatch: 3 }),
        Interleaved.make([source("a", numbered("A", 5, 5))], { groupsPerBatch: 2 })
      ])
      const all = [fingerprint, ...others.map(({ fingerprint }) => fingerprint)]
      assert.strictEqual(new Set(all).size, all.length)
    }))
})

it("an RLDataset has no field for a test set", () => {
  expectTypeOf<keyof RLDataset.RLDataset>().toEqualTypeOf<
    "length" | "fingerprint" | "shortBatch" | "code" | "readsHistory" | "batch"
  >()
})

it("Interleaved.make has the union of its sources' errors", () => {
  const failing: RLDataset.RLDataset<SandboxLost> = { ...ragged(1), batch: () => Effect.fail(new SandboxLost()) }
  const mixed = Interleaved.make(
    [{ name: "a", weight: 1, dataset: failing }, { name: "b", weight: 1, dataset: numbered("", 1, 1) }],
    { groupsPerBatch: 1 }
  )
  expectTypeOf(mixed).toEqualTypeOf<
    Effect.Effect<
      RLDataset.RLDataset<SandboxLost | InvalidOption.InvalidOption>,
      SandboxLost | InvalidOption.InvalidOption
    >
  >()
})

it.effect("the dataset of Interleaved.make can be filtered", () =>
  Effect.gen(function*() {
    const dataset = RLDataset.filter(yield* two({ batches: 4 }), ({ key }) => key.startsWith("a/"), {
      name: "only a"
    })
    assert.isTrue((yield* keys(dataset)).flat().every((key) => key.startsWith("a/")))
  }))
