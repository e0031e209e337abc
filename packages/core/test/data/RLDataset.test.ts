import { type Env, type EnvGroupBuilder, type InvalidOption, RLDataset } from "@effect-rl/core"
import { Key } from "@effect-rl/core/environments"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Array as Arr, Context, Effect, Exit, Schema } from "effect"

class SandboxLost extends Schema.TaggedError<SandboxLost>()("SandboxLost", { id: Schema.String }) {}
class JudgeBusy extends Schema.TaggedError<JudgeBusy>()("JudgeBusy", {}) {}
class Judge extends Context.Service<Judge, { readonly score: number }>()("test/Judge") {}

const builder = (key: string): EnvGroupBuilder.EnvGroupBuilder => ({
  key,
  size: 2,
  tags: [],
  open: Effect.succeed({ makeEnv: () => Effect.never })
})

const letters = (options: Partial<RLDataset.FromArrayOptions<string, EnvGroupBuilder.EnvGroupBuilder>> = {}) =>
  RLDataset.fromArray(["a", "b", "c", "d", "e"], {
    groupsPerBatch: 2,
    group: (row, index) => builder(`${row}${index}`),
    ...options
  })

const batches = (dataset: RLDataset.RLDataset<InvalidOption.InvalidOption>, seed = 0) =>
  Effect.forEach(
    Arr.range(0, dataset.length - 1),
    (index) => Effect.map(dataset.batch(index, seed), (groups) => groups.map(({ key }) => key))
  )

describe("RLDataset.fromArray", () => {
  it.effect("goes through the rows in order, with a short last batch", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* batches(letters()), [["a0", "b1"], ["c2", "d3"], ["e4"]])
    }))

  it.effect("starts every epoch with a new batch", () =>
    Effect.gen(function*() {
      const pass = [["a0", "b1"], ["c2", "d3"], ["e4"]]
      assert.deepStrictEqual(yield* batches(letters({ epochs: 2 })), [...pass, ...pass])
    }))

  it.effect("shuffles every epoch differently, depending only on the seed", () =>
    Effect.gen(function*() {
      const rows = Arr.range(0, 99)
      const dataset = RLDataset.fromArray(rows, {
        groupsPerBatch: 100,
        epochs: 2,
        shuffle: true,
        group: (row) => builder(String(row))
      })
      const [first = [], second = []] = yield* batches(dataset, 7)
      assert.deepStrictEqual(yield* batches(dataset, 7), [first, second])
      assert.notDeepEqual(first, second)
      assert.notDeepEqual(first, rows.map(String))
      assert.notDeepEqual(yield* batches(dataset, 8), [first, second])
      for (const pass of [first, second]) assert.sameMembers(pass, rows.map(String))
    }))

  it.effect.prop(
    "gives every row exactly once per epoch, for any batch size",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })), Schema.Int, Schema.Boolean],
    ([groupsPerBatch, seed, shuffle]) =>
      Effect.gen(function*() {
        const passes = yield* batches(letters({ groupsPerBatch, epochs: 3, shuffle }), seed)
        assert.deepStrictEqual(
          passes.flat().toSorted(),
          ["a0", "b1", "c2", "d3", "e4"].flatMap((key) => [key, key, key])
        )
        for (const keys of passes) assert.strictEqual(new Set(keys).size, keys.length)
      })
  )

  it("has a fingerprint of the rows, their order and the composition of their groups", () => {
    assert.strictEqual(letters().fingerprint, letters({ epochs: 1, shuffle: false }).fingerprint)
    assert.strictEqual(
      letters().fingerprint,
      letters({ epochs: 2 }).fingerprint,
      "more passes begin with the same ones"
    )
    const others = [
      letters({ groupsPerBatch: 3 }),
      letters({ shuffle: true }),
      letters({ group: (row, index) => ({ ...builder(`${row}${index}`), size: 8 }) }),
      letters({ group: (row, index) => ({ ...builder(`${row}${index}`), tags: ["hard"] }) }),
      letters({ group: (row, index) => ({ ...builder(`${row}${index}`), form: "one worked example" }) }),
      letters({ group: (row) => builder(row) }),
      RLDataset.fromArray(["a", "b", "c", "e", "d"], { groupsPerBatch: 2, group: builder }),
      RLDataset.fromArray(["a", "b", "c", "d"], { groupsPerBatch: 2, group: builder })
    ]
    const fingerprints = [letters(), ...others].map(({ fingerprint }) => fingerprint)
    assert.strictEqual(new Set(fingerprints).size, fingerprints.length)
    const hex = /\([0-9a-f]{8}\)/g
    assert.strictEqual(
      letters({ group: (row) => ({ ...builder(row), tags: ["letters"], form: "exact match" }) }).fingerprint.replace(
        hex,
        "(…)"
      ),
      "5 rows (…) in order, 2 groups per batch, of 2 members, tagged letters, exact match, keys a to b (…)"
    )
  })

  it("is empty without rows", () => {
    assert.strictEqual(RLDataset.fromArray([], { groupsPerBatch: 4, group: () => builder("never") }).length, 0)
  })

  it.effect("refuses an invalid option when the first batch is requested", () =>
    Effect.gen(function*() {
      const refusal = (options: object) =>
        Effect.map(Effect.flip(letters(options).batch(0, 0)), ({ message }) => message)
      const expected = "expected a whole number of at least 1"
      assert.strictEqual(yield* refusal({ groupsPerBatch: 0 }), `groupsPerBatch is 0, ${expected}`)
      assert.strictEqual(yield* refusal({ groupsPerBatch: 2.5 }), `groupsPerBatch is 2.5, ${expected}`)
      assert.strictEqual(yield* refusal({ epochs: NaN }), `epochs is NaN, ${expected}`)
      assert.strictEqual(letters({ groupsPerBatch: 0 }).length, 1)
    }))

  it.effect.each([-1, 3, 0.5])("dies for a batch that does not exist (%s)", (index) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(letters().batch(index, 0))
      assert.isTrue(Exit.hasDies(exit))
      assert.include(String(exit), `index is ${index}, expected 0 up to 3 exclusive`)
    }))

  it("has the union of the groups' errors and requirements", () => {
    type Builder<E, R> = EnvGroupBuilder.EnvGroupBuilder<E, R>
    const sandboxed: Builder<SandboxLost, never> = builder("sandboxed")
    const judged: Builder<JudgeBusy, Judge> = builder("judged")
    const mixed = RLDataset.fromArray([0, 1], { groupsPerBatch: 1, group: (row) => row === 0 ? sandboxed : judged })
    expectTypeOf(mixed).toEqualTypeOf<
      RLDataset.RLDataset<SandboxLost | JudgeBusy | InvalidOption.InvalidOption, Judge>
    >()
    expectTypeOf(RLDataset.fromArray([0], { groupsPerBatch: 1, group: () => sandboxed }))
      .toEqualTypeOf<RLDataset.RLDataset<SandboxLost | InvalidOption.InvalidOption>>()
    expectTypeOf(letters()).toEqualTypeOf<RLDataset.RLDataset<InvalidOption.InvalidOption>>()
    // @ts-expect-error a row is a string
    RLDataset.fromArray(["a"], { groupsPerBatch: 1, group: (row: number) => builder(String(row)) })
  })
})

describe("RLDataset.provideContext", () => {
  const judge = Effect.map(Judge, ({ score }) => score)

  const asking = RLDataset.fromArray(["a"], {
    groupsPerBatch: 1,
    group: (key): EnvGroupBuilder.EnvGroupBuilder<never, Judge> => ({
      key,
      size: 1,
      tags: [],
      open: Effect.as(judge, {
        makeEnv: () =>
          Effect.map(judge, (reward): Env.Env<never, Judge> => ({
            initialObservation: Effect.map(judge, () => ({ _tag: "Overflow", reward })),
            step: () => Effect.map(judge, (reward) => ({ _tag: "Done", reward }))
          })),
        groupRewards: () => Effect.map(judge, (reward) => [{ reward }])
      })
    })
  })

  it.effect("provides its services to groups, environments and rewards", () =>
    Effect.gen(function*() {
      const provided = RLDataset.provideContext(asking, Context.make(Judge, { score: 3 }))
      expectTypeOf(provided).toEqualTypeOf<RLDataset.RLDataset<InvalidOption.InvalidOption>>()
      const attempt = Key.groupAttempt(0, { attempt: 0, group: "a", iteration: 1 })
      for (const { open } of yield* provided.batch(0, 0)) {
        const { groupRewards = () => Effect.succeed([]), makeEnv } = yield* open
        const { initialObservation, step } = yield* makeEnv(0, attempt)
        assert.deepStrictEqual(yield* initialObservation, { _tag: "Overflow", reward: 3 })
        assert.deepStrictEqual(yield* step({ tokens: Int32Array.of(1) }), { _tag: "Done", reward: 3 })
        assert.deepStrictEqual(yield* groupRewards([], attempt), [{ reward: 3 }])
      }
    }))
})
