import { Compare, Divergence, type RunRecord, RunStore } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Stream } from "effect"

const scores = (values: Readonly<Record<string, ReadonlyArray<number>>>): Compare.Scores =>
  new Map(Object.entries(values))

const spent = { prefilled: 0, sampled: 0, trained: 0 }

const opened = (identity: RunRecord.Opened["identity"]): RunRecord.Entry => ({
  _tag: "Opened",
  program: "rl",
  version: "0",
  identity,
  settings: {},
  capabilities: {},
  iteration: 0,
  iterations: 2,
  resumedFrom: null,
  continuesAfter: -1,
  warnings: []
})

const group = (iteration: number, key: string, reward: number, evaluator?: string): RunRecord.Entry => ({
  _tag: "GroupRolledOut",
  ...(evaluator === undefined ? {} : { evaluator }),
  iteration,
  step: iteration,
  key,
  tags: [],
  outcome: "Completed",
  rewards: [reward],
  members: [{ turns: 1, sampled: 1, observed: 1, stopReason: null, truncated: false }],
  failures: [],
  retries: 0,
  milliseconds: 1,
  spent
})

const recorded = (entries: ReadonlyArray<RunRecord.Entry>) =>
  Effect.gen(function*() {
    const run = yield* RunStore.RunStore
    yield* Effect.forEach(entries, (entry) => run.append(entry))
    return yield* Stream.runCollect(run.read)
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

describe("Compare", () => {
  it("pairs problems by their keys, and leaves out those of one side alone", () => {
    const left = scores({ a: [0, 1], b: [0], c: [1], alone: [1] })
    const right = scores({ a: [1], b: [1], c: [1], other: [0] })
    const found = Compare.paired([left], [right])
    assert.deepInclude(found, { problems: 3, better: 2, worse: 0, equal: 1, left: 0.5, right: 1, difference: 0.5 })
    // Student's t with 2 degrees of freedom (4.303) times 0.5 / √3.
    assert.closeTo(found.high - found.difference, 1.242, 0.001)
    assert.isFalse(found.coversSeeds)
  })

  it("is sure of nothing with one shared problem", () => {
    const found = Compare.paired([scores({ a: [0] })], [scores({ a: [1] })])
    assert.deepInclude(found, { low: -Infinity, high: Infinity })
  })

  it("takes the spread between seeds into its interval where both sides have several", () => {
    const same = scores({ a: [1], b: [0], c: [1], d: [0] })
    const lucky = scores({ a: [1], b: [1], c: [1], d: [1] })
    const seeds = Compare.paired([same, lucky], [same, lucky])
    assert.isTrue(seeds.coversSeeds)
    assert.strictEqual(seeds.difference, 0)
    assert.isAbove(seeds.high, Compare.paired([same], [same]).high)
  })

  it.effect("holds the true difference in about 95 of 100 comparisons", () =>
    Effect.gen(function*() {
      const problems = Array.from({ length: 40 }, (_, at) => ({ key: String(at), easy: at / 40 }))
      const attempt = (bonus: number) =>
        Effect.map(
          Effect.forEach(
            problems,
            ({ easy, key }) =>
              Effect.map(Random.next, (chance): [string, Array<number>] => [key, [chance < easy * 0.8 + bonus ? 1 : 0]])
          ),
          (entries): Compare.Scores => new Map(entries)
        )
      let held = 0
      for (let trial = 0; trial < 400; trial++) {
        const { high, low } = Compare.paired([yield* attempt(0)], [yield* attempt(0.1)])
        if (low <= 0.1 && 0.1 <= high) held++
      }
      assert.isAtLeast(held / 400, 0.92)
      assert.isAtMost(held / 400, 0.99)
    }).pipe(Random.withSeed("comparisons")))

  it("says after how many problems one could have stopped", () => {
    const { decidedAfter, interval } = Compare.stopping(Array.from({ length: 200 }, () => 0.5))
    assert.isAbove(interval.low, 0)
    assert.isAbove(decidedAfter ?? 0, 5)
    assert.isBelow(decidedAfter ?? Infinity, 100)
    const even = Compare.stopping(Array.from({ length: 200 }, (_, at) => at % 2 === 0 ? 0.5 : -0.5))
    assert.strictEqual(even.decidedAfter, undefined)
  })

  it.effect("reads the newest measurement of each evaluator from records", () =>
    Effect.gen(function*() {
      const records = yield* recorded([
        opened({}),
        group(0, "a", 0, "held_out"),
        group(0, "train", 0.5),
        group(2, "a", 1, "held_out"),
        group(2, "b", NaN, "held_out")
      ])
      assert.deepStrictEqual(Compare.heldOut(records), [
        { evaluator: "held_out", iteration: 2, scores: scores({ a: [1], b: [] }) }
      ])
    }))
})

describe("Divergence", () => {
  it.effect("names fields that are configured otherwise by their path", () =>
    Effect.gen(function*() {
      const left = yield* recorded([opened({ seed: 0, adam: { beta1: 0.9 }, loss: "ppo" })])
      const right = yield* recorded([opened({ seed: 0, adam: { beta1: 0.8 } })])
      assert.deepStrictEqual(Divergence.configuration(left, right), [
        { field: "adam.beta1", left: 0.9, right: 0.8 },
        { field: "loss", left: "ppo", right: undefined }
      ])
    }))

  it.effect("finds the first record that differs, ignoring the order in which groups finished", () =>
    Effect.gen(function*() {
      const left = yield* recorded([opened({}), group(0, "a", 1), group(0, "b", 1), group(1, "a", 1)])
      const right = yield* recorded([opened({}), group(0, "b", 1), group(0, "a", 1), group(1, "a", 0)])
      assert.deepStrictEqual(Divergence.first(left, right), {
        record: "GroupRolledOut",
        iteration: 1,
        evaluator: undefined,
        key: "a",
        differences: [{ field: "rewards", left: [1], right: [0] }]
      })
      assert.strictEqual(Divergence.first(left, left), undefined)
      assert.strictEqual(Divergence.first(left.slice(0, 3), left), undefined)
    }))
})
