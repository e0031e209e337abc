import { Story } from "@effect-rl/core/records"
import * as MetricSeries from "@effect-rl/view/story/MetricSeries"
import { assert, describe, it } from "@effect/vitest"

const stamp = { segment: 1, sequence: 0 }

const minute = 60_000

/** Two iterations of one minute and 100 tokens each, separated by a ten-minute pause in which no process wrote the run. */
const story = Story.fromRecords([
  {
    ...stamp,
    _tag: "Opened",
    at: 0,
    program: "rl",
    version: "0.0.0",
    identity: {},
    settings: {},
    capabilities: {},
    iteration: 0,
    iterations: 2,
    resumedFrom: null,
    continuesAfter: -1,
    warnings: []
  },
  ...[0, 1].map((iteration) => ({
    ...stamp,
    _tag: "Updated" as const,
    sequence: iteration + 1,
    at: minute + iteration * 11 * minute,
    iteration,
    metrics: { "optim/lr": iteration === 0 ? NaN : 0.5, nll: 2 - iteration },
    reward: { mean: iteration },
    updates: [],
    spent: { prefilled: 0, sampled: 0, trained: 100 * (iteration + 1), ...(iteration === 0 ? {} : { dollars: 1.5 }) }
  }))
])
story.pauses.push({ from: minute, to: 11 * minute })

/** The run with an earlier measurement by an evaluator of examples. */
const measured = Story.fromRecords([...story.records, {
  ...stamp,
  _tag: "Evaluated" as const,
  sequence: 3,
  at: 13 * minute,
  iteration: 2,
  step: 2,
  evaluator: "held_out",
  metrics: { "held_out/nll": 1.25, "held_out/tokens": 40 },
  seconds: 1,
  spent: { prefilled: 0, sampled: 0, trained: 200 }
}])

const pointsOf = (axis: "iteration" | "minutes" | "tokens" | "dollars", name: string) =>
  MetricSeries.of(story, axis).find((series) => series.name === name)?.points.map(({ value, x }) => [x, value])

describe("a run's metrics", () => {
  it("are grouped by section, outcomes first, without values that are not numbers", () => {
    assert.deepStrictEqual(
      MetricSeries.of(story, "iteration").map(({ name, section }) => [section, name]),
      [["outcomes", "reward"], ["optim", "optim/lr"], ["training", "nll"]]
    )
    assert.deepStrictEqual(pointsOf("iteration", "optim/lr"), [[2, 0.5]])
  })

  it("include evaluators' metrics, whose loss is an outcome", () => {
    const held = MetricSeries.of(measured, "iteration").filter(({ name }) => name.startsWith("held_out"))
    assert.deepStrictEqual(held.map(({ name, points, section }) => [section, name, points.map(({ value }) => value)]), [
      ["outcomes", "held_out/nll", [1.25]],
      ["held_out", "held_out/tokens", [40]]
    ])
  })

  it("are drawn over iterations, minutes without pauses, tokens, or dollars if these are known", () => {
    assert.deepStrictEqual(pointsOf("iteration", "nll"), [[1, 2], [2, 1]])
    assert.deepStrictEqual(pointsOf("minutes", "nll"), [[1, 2], [2, 1]])
    assert.deepStrictEqual(pointsOf("tokens", "nll"), [[100, 2], [200, 1]])
    assert.deepStrictEqual(pointsOf("dollars", "nll"), [[1.5, 1]])
  })

  it("are smoothed over the last values, and read at the last point before a position", () => {
    const points = [2, 4, 9].map((value, x) => ({ x, iteration: x, value }))
    assert.deepStrictEqual(MetricSeries.smoothed(points, 2).map(({ value }) => value), [2, 3, 6.5])
    assert.strictEqual(MetricSeries.before(points, 1.5)?.value, 4)
    assert.isUndefined(MetricSeries.before(points, -1))
  })

  it("have a mean over seeds with its standard error, excluding seeds without a value yet", () => {
    const seed = (...values: ReadonlyArray<number>) => values.map((value, x) => ({ x, iteration: x, value }))
    assert.deepStrictEqual(
      MetricSeries.meanOf([seed(1, 2, 3), seed(3, 2)]).map(({ high, low, value, x }) => [x, low, value, high]),
      [[0, 1, 2, 3], [1, 2, 2, 2], [2, 3, 3, 3]]
    )
    assert.deepStrictEqual(MetricSeries.meanOf([seed(5)]).map(({ high, low }) => [low, high]), [[5, 5]])
  })

  it("are thinned, keeping the first and last points", () => {
    const points = Array.from({ length: 10 }, (_, x) => ({ x, iteration: x, value: x }))
    assert.deepStrictEqual(MetricSeries.thinned(points, 4).map(({ x }) => x), [0, 3, 6, 9])
    assert.deepStrictEqual(MetricSeries.thinned(points, 3).map(({ x }) => x), [0, 4, 8, 9])
  })

  it("include tokens per second, if token counts and stage times are recorded", () => {
    const [opened, updated] = story.records
    const timed = { "tokens/sampled": 100, "time/sampling": 4, "tokens/trained": 50 }
    if (opened === undefined || updated?._tag !== "Updated") return assert.fail("the story has no update")
    const found = MetricSeries.of(Story.fromRecords([opened, { ...updated, metrics: timed }]), "iteration")
    assert.deepStrictEqual(
      found.filter(({ section }) => section === "speed").map((
        { name, points }
      ) => [name, points.map(({ value }) => value)]),
      [["speed/tokens_sampled_per_second", [25]]]
    )
  })

  it("include memory in GiB and busy processors, if the process was measured", () => {
    const [opened, updated] = story.records
    if (opened === undefined || updated?._tag !== "Updated") return assert.fail("the story has no update")
    const measured = { ...updated, process: { memory: 1.5 * 2 ** 30, processors: 0.75 } }
    const found = MetricSeries.of(Story.fromRecords([opened, measured]), "iteration")
    assert.deepStrictEqual(
      found.filter(({ section }) => section === MetricSeries.machine).map((
        { name, points }
      ) => [name, points.map(({ value }) => value)]),
      [["machine/memory_gib", [1.5]], ["machine/processors", [0.75]]]
    )
  })
})
