import { Compare, type RunRecord, RunStore } from "@effect-rl/core"
import { Verdict } from "@effect-rl/core/evaluation"
import { Divergence } from "@effect-rl/core/records"
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

/** A finished evaluation before `iteration`, with these rewards of its problems. */
const evaluation = (
  iteration: number,
  rewards: Readonly<Record<string, number>>,
  { evaluator = "held_out", tags = [] }: { readonly evaluator?: string; readonly tags?: ReadonlyArray<string> } = {}
): ReadonlyArray<RunRecord.Entry> => [
  ...Object.entries(rewards).map(([key, reward]) => ({ ...group(iteration, key, reward, evaluator), tags })),
  { _tag: "Evaluated", iteration, step: iteration, evaluator, metrics: {}, seconds: 1, spent }
]

/** The record of an iteration, with the run's tokens and seconds so far. */
const updated = (iteration: number, tokens: number): RunRecord.Entry => ({
  _tag: "Updated",
  iteration,
  metrics: {},
  updates: [],
  spent: { prefilled: tokens, sampled: 0, trained: 0, seconds: tokens }
})

/** A run with these mean rewards at these iterations, whose iterations cost `tokens` tokens each. */
const measured = (means: ReadonlyArray<readonly [iteration: number, mean: number]>, tokens = 10) =>
  recorded([
    opened({}),
    ...means.flatMap(([iteration, mean]) => [
      ...(iteration === 0 ? [] : [updated(iteration - 1, iteration * tokens)]),
      ...evaluation(iteration, { a: mean - 0.01, b: mean, c: mean + 0.01, d: mean + 0.02 })
    ])
  ])

const sideOf = (name: string, ...runs: Compare.Side["runs"]): Compare.Side => ({ name, runs })

const compared = (left: Compare.Side, right: Compare.Side, at?: Compare.Meter) =>
  Effect.map(Effect.fromResult(Compare.runs(left, right, at)), ([comparison]) => {
    if (comparison === undefined) return assert.fail("there is no comparison")
    return { ...comparison, verdict: Verdict.of(comparison) }
  })

describe("Compare.paired", () => {
  it("pairs problems by their keys, and leaves out those of only one side", () => {
    const left = scores({ a: [0, 1], b: [0], c: [1], alone: [1] })
    const right = scores({ a: [1], b: [1], c: [1], other: [0] })
    const found = Compare.paired([left], [right])
    assert.deepInclude(found, {
      problems: 3,
      better: 2,
      worse: 0,
      equal: 1,
      leftMean: 0.5,
      rightMean: 1,
      difference: 0.5
    })
    assert.deepStrictEqual(found.differences, [0.5, 1, 0])
    // Student's t with 2 degrees of freedom (4.303), times 0.5 / √3.
    assert.closeTo(found.high - found.difference, 1.242, 0.001)
    assert.isFalse(found.coversSeeds)
  })

  it("has an unbounded interval for one shared problem", () => {
    const found = Compare.paired([scores({ a: [0] })], [scores({ a: [1] })])
    assert.deepInclude(found, { low: -Infinity, high: Infinity })
  })

  it("includes the spread between seeds if both sides have several", () => {
    const same = scores({ a: [1], b: [0], c: [1], d: [0] })
    const lucky = scores({ a: [1], b: [1], c: [1], d: [1] })
    const seeds = Compare.paired([same, lucky], [same, lucky])
    assert.isTrue(seeds.coversSeeds)
    assert.strictEqual(seeds.difference, 0)
    assert.isAbove(seeds.high, Compare.paired([same], [same]).high)
  })

  it.effect("contains the true difference in about 95 of 100 comparisons", () =>
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
})

describe("Compare.stopping", () => {
  it("says after how many problems the comparison could have stopped", () => {
    const { decidedAfter, interval } = Compare.stopping(Array.from({ length: 200 }, () => 0.5))
    assert.isAbove(interval.low, 0)
    assert.isAbove(decidedAfter ?? 0, 5)
    assert.isBelow(decidedAfter ?? Infinity, 100)
    const even = Compare.stopping(Array.from({ length: 200 }, (_, at) => at % 2 === 0 ? 0.5 : -0.5))
    assert.strictEqual(even.decidedAfter, undefined)
  })
})

describe("Compare.heldOut", () => {
  it.effect("reads each evaluator's newest finished evaluation, and the run's cost up to then", () =>
    Effect.gen(function*() {
      const records = yield* recorded([
        opened({}),
        ...evaluation(0, { a: 0 }),
        group(0, "train", 0.5),
        updated(0, 100),
        updated(1, 250),
        ...evaluation(2, { a: 1, b: NaN }),
        updated(2, 400),
        group(3, "a", 0.5, "held_out")
      ])
      assert.deepStrictEqual(Compare.heldOut(records), [
        { evaluator: "held_out", iteration: 2, tokens: 250, seconds: 250, scores: scores({ a: [1], b: [] }) }
      ])
    }))
})

describe("Compare.runs", () => {
  it.effect("gives no verdict on runs that were evaluated after different numbers of iterations", () =>
    Effect.gen(function*() {
      const interrupted = sideOf("int", yield* measured([[0, 0.1]]))
      const { left, right, verdict } = yield* compared(
        interrupted,
        sideOf("int2", yield* measured([[0, 0.1], [60, 0.7]]))
      )
      assert.isNull(verdict.better)
      assert.match(verdict.text, /^no verdict: int was measured after 0 iterations, int2 after 60 iterations; --at /)
      assert.strictEqual(Verdict.standing(left), "after 0 iterations, 0 tokens, 0 s")
      assert.strictEqual(Verdict.standing(right), "after 60 iterations, 600 tokens, 600 s")
    }))

  it.effect("compares at the latest common iteration", () =>
    Effect.gen(function*() {
      const left = sideOf("a", yield* measured([[0, 0.1], [20, 0.5], [40, 0.6]]))
      const right = sideOf("b", yield* measured([[0, 0.1], [20, 0.7], [30, 0.8]]))
      const found = yield* compared(left, right, "iteration")
      assert.deepStrictEqual(found.at, { meter: "iteration", limit: 20 })
      assert.closeTo(found.difference, 0.2, 1e-12)
      assert.strictEqual(
        found.verdict.text,
        "b scored higher than a after 20 iterations in these runs: other seeds may reverse it"
      )
    }))

  it.effect("compares the newest evaluations within the tokens, or the time, that both sides reached", () =>
    Effect.gen(function*() {
      const frugal = sideOf("frugal", yield* measured([[0, 0.1], [20, 0.5], [40, 0.6]], 10))
      const costly = sideOf("costly", yield* measured([[0, 0.1], [10, 0.5], [20, 0.8]], 18))
      for (const meter of ["tokens", "time"] as const) {
        const { at, left, right, verdict } = yield* compared(frugal, costly, meter)
        // The expensive run ends at 360 tokens; the cheap one was evaluated at 200 and 400.
        assert.deepStrictEqual(at, { meter, limit: 360 })
        assert.deepStrictEqual([left, right].map(({ seeds }) => seeds[0]?.iteration), [20, 20])
        assert.include(verdict.text, meter === "tokens" ? "within 360 tokens" : "within 360 s")
      }
    }))

  it.effect("calls a side better only if both have several seeds", () =>
    Effect.gen(function*() {
      const runs = (mean: number) => Effect.forEach([0, 0.01, 0.02], (by) => measured([[5, mean + by]]))
      const [low, high] = [yield* runs(0.1), yield* runs(0.6)]
      const several = yield* compared(sideOf("a", ...low), sideOf("b", ...high))
      assert.deepStrictEqual(several.verdict, { better: "right", text: "b is better than a" })
      const turned = yield* compared(sideOf("b", ...high), sideOf("a", ...low))
      assert.deepStrictEqual(turned.verdict, { better: "left", text: "b is better than a" })
      const one = yield* compared(sideOf("a", ...low.slice(0, 1)), sideOf("b", ...high))
      assert.isNull(one.verdict.better)
      assert.match(one.verdict.text, /^no verdict: a is one seed/)
      assert.strictEqual(Verdict.about(one), "about these runs alone")
      const same = yield* compared(sideOf("a", ...low), sideOf("b", ...low))
      assert.deepStrictEqual(same.verdict, { better: null, text: "no clear difference: the interval contains 0" })
    }))

  it.effect("refuses runs without a common held-out problem, even if keys are alike", () =>
    Effect.gen(function*() {
      const numbers = sideOf(
        "numbers",
        yield* recorded([opened({}), ...evaluation(0, { 1: 0, 2: 1 }, { tags: ["guess"] })])
      )
      const others = sideOf(
        "others",
        yield* recorded([opened({}), ...evaluation(0, { 1: 0, 2: 1 }, { tags: ["sums"] })])
      )
      const error = yield* Effect.flip(Effect.fromResult(Compare.runs(numbers, others)))
      assert.deepInclude(error, { _tag: "CompareError", reason: "NoCommonProblem" })
      assert.match(error.message, /^numbers and others cannot be compared: .* "guess 1".* "sums 1"/)
    }))

  it.effect("refuses runs without a common evaluator or a common iteration", () =>
    Effect.gen(function*() {
      const plain = yield* recorded([opened({}), ...evaluation(0, { a: 1 })])
      const named = yield* recorded([opened({}), ...evaluation(0, { a: 1 }, { evaluator: "other" })])
      const later = yield* recorded([opened({}), ...evaluation(3, { a: 1 })])
      const reasonOf = (right: Compare.Side["runs"][number], at?: Compare.Meter) =>
        Effect.map(Effect.flip(Effect.fromResult(Compare.runs(sideOf("a", plain), sideOf("b", right), at))), (error) =>
          error.reason)
      assert.strictEqual(yield* reasonOf(named), "NotEvaluated")
      assert.strictEqual(yield* reasonOf(later, "iteration"), "NoCommonPoint")
    }))
})

describe("Divergence", () => {
  it.effect("names differing fields of the configuration by their path", () =>
    Effect.gen(function*() {
      const left = yield* recorded([opened({ seed: 0, adam: { beta1: 0.9 }, loss: "ppo" })])
      const right = yield* recorded([opened({ seed: 0, adam: { beta1: 0.8 } })])
      assert.deepStrictEqual(Divergence.configuration(left, right), [
        { field: "adam.beta1", left: 0.9, right: 0.8 },
        { field: "loss", left: "ppo", right: undefined }
      ])
    }))

  it.effect("finds the first different record, regardless of the order in which groups finished", () =>
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

  it.effect("finds a record that only one run has, whichever run that is", () =>
    Effect.gen(function*() {
      const one = yield* recorded([opened({}), group(0, "a", 1), group(1, "a", 1)])
      const both = yield* recorded([opened({}), group(0, "a", 1), group(0, "b", 1), group(1, "a", 0)])
      const where = { record: "GroupRolledOut", iteration: 0, evaluator: undefined, key: "b", differences: [] }
      assert.deepStrictEqual(Divergence.first(both, one), where)
      assert.deepStrictEqual(Divergence.first(one, both), where)
    }))
})

describe("Compare.losses", () => {
  /** A supervised run whose examples were evaluated after some iterations. */
  const supervised = (nll: number, iteration = 2) =>
    recorded([opened({}), {
      _tag: "Evaluated",
      iteration,
      step: iteration,
      evaluator: "examples",
      metrics: { "examples/nll": nll },
      seconds: 1,
      spent
    }])

  const compared = Effect.fnUntraced(function*(
    left: ReadonlyArray<Effect.Effect<ReadonlyArray<RunRecord.RunRecord>, RunStore.RunError>>,
    right: typeof left
  ) {
    const [first] = Compare.losses(
      { name: "left", runs: yield* Effect.all(left) },
      { name: "right", runs: yield* Effect.all(right) }
    )
    return first ?? assert.fail("nothing is compared")
  })

  it.effect("gives the difference of the latest held-out losses, where lower is better", () =>
    Effect.gen(function*() {
      const loss = yield* compared([supervised(0.75)], [supervised(0.5)])
      assert.deepInclude(loss, { evaluator: "examples", metric: "nll", isLowerBetter: true, difference: -0.25 })
      assert.deepStrictEqual(Verdict.ofLoss(loss), {
        better: null,
        text: "right measured better than left in these runs: other seeds may reverse it"
      })
    }))

  it.effect("calls a side better only if the interval over its seeds excludes 0", () =>
    Effect.gen(function*() {
      const far = yield* compared([supervised(0.75), supervised(0.76)], [supervised(0.5), supervised(0.51)])
      // Student's t with two degrees of freedom (4.303), times 0.00707.
      assert.closeTo(far.high - far.difference, 0.0304, 1e-4)
      assert.deepStrictEqual(Verdict.ofLoss(far), { better: "right", text: "right is better than left" })
      const near = yield* compared([supervised(0.5), supervised(0.9)], [supervised(0.6), supervised(0.7)])
      assert.strictEqual(Verdict.ofLoss(near).better, null)
    }))

  it.effect("gives no verdict if one side trained longer, and no result without a loss", () =>
    Effect.gen(function*() {
      const uneven = yield* compared([supervised(0.75)], [supervised(0.5, 4)])
      assert.match(Verdict.ofLoss(uneven).text, /^no verdict: /)
      const side = { name: "answers", runs: [yield* recorded(evaluation(0, { a: 1 }))] }
      assert.deepStrictEqual(Compare.losses(side, side), [])
    }))
})
