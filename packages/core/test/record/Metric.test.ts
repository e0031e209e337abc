import { Metric } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const value = Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))

/** `valuesET[e][t]` is what turn `t` of episode `e` reports. */
const valuesET = Schema.Array(Schema.Array(value))

const report = (valuesET: ReadonlyArray<ReadonlyArray<number>>, make: (value: number) => Metric.Metric) =>
  Metric.aggregate(valuesET.map((turns) => turns.map((value) => ({ x: make(value) }))))

const sum = (values: ReadonlyArray<number>) => values.reduce((left, right) => left + right, 0)

describe("over all turns of all episodes", () => {
  it.prop("a sum is their sum", [valuesET], ([valuesET]) => {
    const all = valuesET.flat()
    assert.strictEqual(report(valuesET, Metric.sum)["x"], all.length === 0 ? undefined : sum(all))
  })

  it.prop("a mean is their mean", [valuesET], ([valuesET]) => {
    const all = valuesET.flat()
    assert.strictEqual(report(valuesET, Metric.mean)["x"], all.length === 0 ? undefined : sum(all) / all.length)
  })

  it.prop("a maximum is the largest", [valuesET], ([valuesET]) => {
    const all = valuesET.flat()
    assert.strictEqual(report(valuesET, Metric.max)["x"], all.length === 0 ? undefined : Math.max(...all))
  })

  it.prop("no metric depends on the order of episodes", [valuesET], ([valuesET]) => {
    for (const make of [Metric.sum, Metric.mean, Metric.max, (value: number) => Metric.rate(value > 0)]) {
      assert.deepStrictEqual(report(valuesET.toReversed(), make), report(valuesET, make))
    }
  })
})

describe("a rate", () => {
  it("is over episodes: one that does not report it is a miss", () => {
    const episodes = [[{ correct: Metric.rate(true) }], [{ correct: Metric.rate(false) }], [{}], []]
    assert.deepEqual(Metric.aggregate(episodes), { correct: 0.25 })
  })

  it("counts an episode once, however many of its turns hit", () => {
    const episodes = [[{ tool: Metric.rate(true) }, { tool: Metric.rate(true) }, { tool: Metric.rate(false) }], [{}]]
    assert.deepEqual(Metric.aggregate(episodes), { tool: 0.5 })
  })

  it.prop("is between 0 and 1", [valuesET], ([valuesET]) => {
    const rate = report(valuesET, (value) => Metric.rate(value > 0))["x"] ?? 0
    assert.isTrue(rate >= 0 && rate <= 1)
  })
})

it("a metric that no episode reports is absent", () => {
  assert.deepEqual(Metric.aggregate([]), {})
  assert.deepEqual(Metric.aggregate([[], [{}]]), {})
})

describe("a name that every object has", () => {
  it("is a name like any other", () => {
    assert.strictEqual(Metric.aggregate([[{ constructor: Metric.sum(3) }], [{}]])["constructor"], 3)
  })
})
