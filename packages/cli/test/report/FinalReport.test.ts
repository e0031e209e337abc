import * as FinalReport from "@effect-rl/cli/report/FinalReport"
import * as RunHistory from "@effect-rl/cli/report/RunHistory"
import * as Style from "@effect-rl/cli/terminal/Style"
import { RunStore } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const step = (step: number, reward: RunStore.Json) => ({
  step,
  "env/all/reward/total": reward,
  "env/all/reward/standard_error": 0.1
})

const measured = (step: number, correct: number) => ({
  step,
  "held_out/correct": correct,
  "held_out/correct_low": correct - 0.1,
  "held_out/correct_high": correct + 0.1,
  "held_out/episodes": 64
})

const historyOf = (records: ReadonlyArray<RunStore.JsonObject>) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    yield* Effect.forEach(records, (record) => store.append("metrics", record))
    return yield* RunHistory.read
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

describe("RunHistory", () => {
  it.effect("is in the order of steps, and has of a step done twice the later", () =>
    Effect.gen(function*() {
      const { measurements, rewards } = yield* historyOf([
        measured(0, 0.3),
        step(0, 0.1),
        step(1, 0.2),
        step(2, 0.3),
        step(1, 0.25),
        measured(0, 0.4)
      ])
      assert.deepStrictEqual(rewards.map(({ reward, step }) => [step, reward]), [[0, 0.1], [1, 0.25], [2, 0.3]])
      assert.deepStrictEqual(measurements.map(({ step, value }) => [step, value]), [[0, 0.4]])
    }))

  it.effect("takes what is not a number as missing", () =>
    Effect.gen(function*() {
      const { rewards } = yield* historyOf([step(0, "NaN")])
      assert.deepStrictEqual(rewards.map(({ reward }) => reward), [NaN])
    }))
})

describe("FinalReport", () => {
  it.effect("compares held-out problems before and after", () =>
    Effect.gen(function*() {
      const history = yield* historyOf([
        measured(0, 0.3),
        step(0, 0.1),
        step(1, 0.9),
        measured(1, 0.7),
        measured(2, 0.8)
      ])
      const lines = FinalReport.lines(history, Style.plain)
      assert.deepStrictEqual(lines.slice(-2), [
        "held-out problems, correct before                     after",
        "held_out (64)              30.0 % (20.0 to 40.0 %)    80.0 % (70.0 to 90.0 %)"
      ])
      assert.deepInclude(FinalReport.record(history), { steps: 2 })
    }))

  it.effect("has a dash where there was no second evaluation, and nothing where there was none", () =>
    Effect.gen(function*() {
      const once = FinalReport.lines(yield* historyOf([measured(0, 0.3)]), Style.plain)
      assert.match(once.at(-1) ?? "", /–$/)
      assert.deepStrictEqual(FinalReport.lines(yield* historyOf([step(0, 1)]), Style.plain), [])
    }))
})
