import { EnvMetric, Score } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"

describe("Score.correct", () => {
  it("is 1 for a correct answer and 0 for a wrong one, and sets success accordingly", () => {
    assert.deepStrictEqual(Score.correct(true, { answer: "4" }), { value: 1, success: true, answer: "4" })
    assert.deepStrictEqual(Score.correct(false), { value: 0, success: false })
  })
})

describe("the metric `correct` of a score", () => {
  const metrics = { format: EnvMetric.rate(true) }

  it("is a rate, for scores that say whether the task was solved", () => {
    assert.deepStrictEqual(Score.withCorrect(Score.correct(false), metrics), {
      format: EnvMetric.rate(true),
      correct: EnvMetric.rate(false)
    })
    assert.strictEqual(Score.withCorrect({ value: 0.7 }, metrics), metrics)
    assert.strictEqual(Score.withCorrect(undefined, metrics), metrics)
  })

  it("can be removed again", () => {
    for (const score of [Score.correct(true), { value: 0.7 }, undefined]) {
      assert.deepStrictEqual(Score.withoutCorrect(score, Score.withCorrect(score, metrics)), metrics)
    }
  })
})
