import * as FinalReport from "@effect-rl/cli/report/FinalReport"
import * as RunHistory from "@effect-rl/cli/report/RunHistory"
import * as Style from "@effect-rl/cli/terminal/Style"
import { type RunRecord, RunStore } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const spent = Usage.zero

const updated = (iteration: number, mean: number): RunRecord.Entry => ({
  _tag: "Updated",
  iteration,
  metrics: {},
  reward: { mean, standardError: 0.1 },
  updates: [],
  spent
})

const evaluated = (iteration: number, value: number): RunRecord.Entry => ({
  _tag: "Evaluated",
  iteration,
  step: iteration,
  evaluator: "held_out",
  metrics: { "held_out/episodes": 64 },
  score: { value, low: value - 0.1, high: value + 0.1 },
  reward: { mean: value },
  seconds: 1,
  spent
})

const opened = (continuesAfter: number): RunRecord.Entry => ({
  _tag: "Opened",
  program: "rl",
  version: "0.0.0",
  identity: {},
  settings: {},
  capabilities: {},
  iteration: 0,
  iterations: 3,
  resumedFrom: null,
  continuesAfter,
  warnings: []
})

const plain = { mode: "plain", style: Style.plain } as const

const historyOf = (entries: ReadonlyArray<RunRecord.Entry>) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    yield* Effect.forEach(entries, (entry) => store.append(entry))
    return yield* RunHistory.read(store)
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

describe("RunHistory", () => {
  it.effect("excludes abandoned records, and keeps the latest of repeated measurements", () =>
    Effect.gen(function*() {
      const { measurements, rewards } = yield* historyOf([
        evaluated(0, 0.3),
        updated(0, 0.1),
        updated(1, 0.2),
        opened(1),
        updated(1, 0.25),
        evaluated(0, 0.4)
      ])
      assert.deepStrictEqual(rewards.map(({ iteration, reward }) => [iteration, reward]), [[1, 0.1], [2, 0.25]])
      assert.deepStrictEqual(measurements.map(({ iteration, value }) => [iteration, value]), [[0, 0.4]])
    }))
})

describe("FinalReport", () => {
  it.effect("compares held-out results before and after", () =>
    Effect.gen(function*() {
      const history = yield* historyOf([
        evaluated(0, 0.3),
        updated(0, 0.1),
        updated(1, 0.9),
        evaluated(1, 0.7),
        evaluated(2, 0.8)
      ])
      const lines = FinalReport.lines(history, plain)
      assert.deepStrictEqual(lines.slice(-2), [
        "held-out problems, correct before                     after",
        "held_out (64)              30.0 % (20.0 to 40.0 %)    80.0 % (70.0 to 90.0 %)"
      ])
      assert.deepInclude(FinalReport.record(history), { iterations: 2 })
    }))

  it.effect("draws the rewards as dots on a terminal, and as one line of bars elsewhere", () =>
    Effect.gen(function*() {
      const history = yield* historyOf([updated(0, 0.1), updated(1, 0.5), updated(2, 0.9)])
      assert.deepStrictEqual(FinalReport.lines(history, plain), [
        "",
        "mean reward of each iteration, 0.100 to 0.900",
        "▁▅█"
      ])
      assert.match(FinalReport.lines(history, { ...plain, mode: "live" }).join("\n"), /[⠁-⣿]/)
    }))

  it.effect("compares mean rewards with their 95 % intervals if answers are not graded as right or wrong", () =>
    Effect.gen(function*() {
      const played = (iteration: number, mean: number): RunRecord.Entry => ({
        _tag: "Evaluated",
        iteration,
        step: iteration,
        evaluator: "random",
        metrics: { "random/episodes": 128 },
        reward: { mean, standardError: 0.05 },
        seconds: 1,
        spent
      })
      const history = yield* historyOf([played(0, -0.891), updated(0, -0.7), updated(1, -0.2), played(2, 0)])
      assert.deepStrictEqual(FinalReport.lines(history, plain).slice(-2), [
        "held-out episodes, reward  before                     after",
        "random (128)               -0.891 (-0.989 to -0.793)  0.000 (-0.098 to 0.098)"
      ])
    }))

  it.effect("shows a dash for a missing second evaluation, and is empty after one iteration without evaluations", () =>
    Effect.gen(function*() {
      const once = FinalReport.lines(yield* historyOf([evaluated(0, 0.3)]), plain)
      assert.match(once.at(-1) ?? "", /–$/)
      assert.deepStrictEqual(FinalReport.lines(yield* historyOf([updated(0, 1)]), plain), [])
    }))
})
