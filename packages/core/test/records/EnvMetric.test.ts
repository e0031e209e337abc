import { EnvMetric } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const value = Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))

/** `valuesET[e][t]` is the value that turn `t` of episode `e` reports. */
const valuesET = Schema.Array(Schema.Array(value))

const report = (valuesET: ReadonlyArray<ReadonlyArray<number>>, make: (value: number) => EnvMetric.EnvMetric) =>
  EnvMetric.aggregate(valuesET.map((turns) => turns.map((value) => ({ x: make(value) }))))

const sum = (values: ReadonlyArray<number>) => values.reduce((left, right) => left + right, 0)

describe("EnvMetric over all turns of all episodes", () => {
  it.prop("adds up a sum", [valuesET], ([valuesET]) => {
    const all = valuesET.flat()
    assert.strictEqual(report(valuesET, EnvMetric.sum)["x"], all.length === 0 ? undefined : sum(all))
  })

  it.prop("averages a mean", [valuesET], ([valuesET]) => {
    const all = valuesET.flat()
    assert.strictEqual(report(valuesET, EnvMetric.mean)["x"], all.length === 0 ? undefined : sum(all) / all.length)
  })

  it.prop("takes the largest value of a maximum", [valuesET], ([valuesET]) => {
    const all = valuesET.flat()
    assert.strictEqual(report(valuesET, EnvMetric.max)["x"], all.length === 0 ? undefined : Math.max(...all))
  })

  it.prop("does not depend on the order of episodes", [valuesET], ([valuesET]) => {
    for (const make of [EnvMetric.sum, EnvMetric.mean, EnvMetric.max, (value: number) => EnvMetric.rate(value > 0)]) {
      assert.deepStrictEqual(report(valuesET.toReversed(), make), report(valuesET, make))
    }
  })
})

describe("an EnvMetric rate", () => {
  it("is the share of episodes with a hit, where an episode without the metric counts as a miss", () => {
    const episodes = [[{ correct: EnvMetric.rate(true) }], [{ correct: EnvMetric.rate(false) }], [{}], []]
    assert.deepEqual(EnvMetric.aggregate(episodes), { correct: 0.25 })
  })

  it("counts an episode once, however many of its turns are hits", () => {
    const episodes = [
      [{ tool: EnvMetric.rate(true) }, { tool: EnvMetric.rate(true) }, { tool: EnvMetric.rate(false) }],
      [{}]
    ]
    assert.deepEqual(EnvMetric.aggregate(episodes), { tool: 0.5 })
  })

  it.prop("is between 0 and 1", [valuesET], ([valuesET]) => {
    const rate = report(valuesET, (value) => EnvMetric.rate(value > 0))["x"] ?? 0
    assert.isTrue(rate >= 0 && rate <= 1)
  })
})

it("EnvMetric.aggregate has no entry for a metric that no episode reports", () => {
  assert.deepEqual(EnvMetric.aggregate([]), {})
  assert.deepEqual(EnvMetric.aggregate([[], [{}]]), {})
})

describe("a metric named like a property of every object", () => {
  it("is aggregated like any other", () => {
    assert.strictEqual(EnvMetric.aggregate([[{ constructor: EnvMetric.sum(3) }], [{}]])["constructor"], 3)
  })
})
