import { RLDataset } from "@effect-rl/core"
import { Difficulty, type History, Interleaved } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect, pipe } from "effect"
import { builder, keys, numbered } from "./Groups.ts"

const weight = Difficulty.learnability({ success: 1 })

const seen = (...rewards: ReadonlyArray<number>): History.Seen => ({ iteration: 0, visits: 1, rewards })

const history = (entries: Readonly<Record<string, ReadonlyArray<number>>>): History.History =>
  new Map(Object.entries(entries).map(([key, rewards]) => [key, seen(...rewards)]))

describe("Difficulty.learnability", () => {
  it("is largest if half of the members solve the problem, and never 0", () => {
    assert.strictEqual(weight.of(seen(1, 0, 1, 0)), 1)
    assert.strictEqual(weight.of(seen(1, 0, 0, 0)), 0.75)
    assert.strictEqual(weight.of(seen(1, 1)), 0.05)
    assert.strictEqual(weight.of(seen(0.9, 0)), 0.05)
    assert.strictEqual(weight.of(seen()), 0.05)
    assert.strictEqual(weight.of(undefined), 1)
  })
})

describe("Difficulty.sample", () => {
  const dataset = pipe(numbered("", 40, 4), Difficulty.sample({ weight, groupsPerBatch: 4, batches: 200 }))

  it.effect("chooses each group at most once per batch", () =>
    Effect.gen(function*() {
      for (const batch of yield* keys(dataset)) assert.strictEqual(new Set(batch).size, 4)
    }))

  it.effect("depends only on index, seed and history", () =>
    Effect.gen(function*() {
      const known = history({ 0: [1, 0], 1: [1, 1] })
      const first = yield* keys(dataset, { seed: 3, history: known })
      yield* keys(dataset, { seed: 4 })
      assert.deepStrictEqual(yield* keys(dataset, { seed: 3, history: known }), first)
      assert.notDeepEqual(yield* keys(dataset, { seed: 3 }), first)
      assert.notDeepEqual(yield* keys(dataset, { seed: 4, history: known }), first)
    }))

  it.effect("prefers informative groups: 4 that half of the members solve over 36 that all solve", () =>
    Effect.gen(function*() {
      const solved = Object.fromEntries(Array.from({ length: 36 }, (_, at) => [String(at + 4), [1, 1]]))
      const learning = history({ ...solved, 0: [1, 0], 1: [1, 0], 2: [0, 1], 3: [0, 1] })
      const all = (yield* keys(dataset, { history: learning })).flat()
      const chosen = all.filter((key) => Number(key) < 4).length / all.length
      assert.isAbove(chosen, 0.5)
    }))

  it.effect("chooses groups with weight 0 only if no others are left", () =>
    Effect.gen(function*() {
      const onlySecond: Difficulty.Weight = { name: "second", of: (found) => found === undefined ? 0 : 1 }
      const sampled = Difficulty.sample(numbered("", 4, 2), { weight: onlySecond, groupsPerBatch: 3, batches: 50 })
      for (const batch of yield* keys(sampled, { history: history({ 2: [1] }) })) {
        assert.strictEqual(batch[0], "2")
        assert.strictEqual(batch.length, 3)
      }
    }))

  it.effect.each([2, 5])(
    "draws a group of weight %i that many times as often as one of weight 1",
    (times) =>
      Effect.gen(function*() {
        const favour: Difficulty.Weight = { name: "favour", of: (found) => found === undefined ? 1 : times }
        const sampled = Difficulty.sample(numbered("", 10, 10), { weight: favour, groupsPerBatch: 1, batches: 4000 })
        const all = (yield* keys(sampled, { history: history({ 7: [1] }) })).flat()
        assert.closeTo(all.filter((key) => key === "7").length / all.length, times / (9 + times), 0.03)
      })
  )

  it.effect.each([NaN, -1, Infinity])("refuses a weight of %d", (wrong) =>
    Effect.gen(function*() {
      const sampled = Difficulty.sample(numbered("", 4, 2), {
        weight: { name: "wrong", of: () => wrong },
        groupsPerBatch: 2
      })
      const error = yield* Effect.flip(sampled.batch(0, 0))
      assert.include(error.message, `wrong: weight of "0" is ${wrong}, expected a number of at least 0`)
    }))

  it.effect("refuses a batch of 0 groups", () =>
    Effect.gen(function*() {
      const { batch } = Difficulty.sample(numbered("", 4, 2), { weight, groupsPerBatch: 0 })
      assert.include((yield* Effect.flip(batch(0, 0))).message, "groupsPerBatch is 0")
    }))

  it("has a fingerprint of the weight, the batch size and the groups, but not of the length", () => {
    const fingerprint = (options: Partial<Difficulty.Options>, count = 40) =>
      Difficulty.sample(numbered("", count, 4), { weight, groupsPerBatch: 4, ...options }).fingerprint
    assert.strictEqual(fingerprint({ batches: 7 }), fingerprint({}))
    const all = [
      fingerprint({}),
      fingerprint({ groupsPerBatch: 2 }),
      fingerprint({}, 36),
      fingerprint({ weight: Difficulty.learnability({ success: 0.5 }) })
    ]
    assert.strictEqual(new Set(all).size, all.length)
  })

  it.effect("reads its part of the history without the source's prefix inside an interleaved dataset", () =>
    Effect.gen(function*() {
      const only: Difficulty.Weight = { name: "known", of: (found) => found === undefined ? 0 : 1 }
      const inner = Difficulty.sample(numbered("", 4, 4), { weight: only, groupsPerBatch: 1, batches: 5 })
      const outer = yield* Interleaved.make([{ name: "x", dataset: inner, weight: 1 }], { groupsPerBatch: 1 })
      assert.isTrue(outer.readsHistory)
      const all = (yield* keys(outer, { history: history({ "x/3": [1] }) })).flat()
      assert.deepStrictEqual(new Set(all), new Set(["x/3"]))
    }))
})

describe("RLDataset combinators", () => {
  it.effect("map replaces each group", () =>
    Effect.gen(function*() {
      const renamed = pipe(numbered("", 3, 2), RLDataset.map(({ key }) => builder(key + key), { name: "twice" }))
      assert.deepStrictEqual(yield* keys(renamed), [["00", "11"], ["22"]])
      assert.notStrictEqual(renamed.fingerprint, numbered("", 3, 2).fingerprint)
    }))

  it.effect("filter leaves groups out, and may leave a batch empty", () =>
    Effect.gen(function*() {
      const few = RLDataset.filter(numbered("", 4, 2), ({ key }) => Number(key) >= 3, { name: "from 3 on" })
      assert.deepStrictEqual(yield* keys(few), [[], ["3"]])
      assert.notStrictEqual(few.fingerprint, numbered("", 4, 2).fingerprint)
    }))

  it.effect("dropRemainder leaves out the rows of each epoch that do not fill a batch", () =>
    Effect.gen(function*() {
      const options = { groupsPerBatch: 2, epochs: 2, shuffle: true, group: (at: number) => builder(String(at)) }
      const full = RLDataset.fromArray([0, 1, 2, 3, 4], { ...options, dropRemainder: true })
      assert.strictEqual(full.length, 4)
      for (const batch of yield* keys(full)) assert.strictEqual(batch.length, 2)
      assert.notStrictEqual(full.fingerprint, RLDataset.fromArray([0, 1, 2, 3, 4], options).fingerprint)
    }))
})
