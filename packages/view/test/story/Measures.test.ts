import * as Measures from "@effect-rl/view/story/Measures"
import { assert, describe, it } from "@effect/vitest"

describe("a rollout's measures", () => {
  it("sum a metric over turns and graders, and count the turns in which a condition is true", () => {
    const turns = [
      { metrics: { tool_errors: 2, correct: false }, logprobs: [-1, -3] },
      { metrics: { tool_errors: 1, correct: true, broken: null }, logprobs: [-2, null] }
    ]
    assert.deepStrictEqual(Measures.of(turns, { judge_score: 0.5, tool_errors: 1 }), {
      tool_errors: 4,
      correct: 1,
      judge_score: 0.5,
      surprise: 2
    })
  })

  it("are empty without metrics", () => {
    assert.deepStrictEqual(Measures.of([], {}), {})
  })
})

describe("a run's measures", () => {
  it("list each problem once, and each value under the name of its measure", () => {
    const sum = { question: "1 + 1", reference: "2" }
    const collected = Measures.collect([
      { sequence: 3, problem: sum, members: [{ b: 2 }, null] },
      { sequence: 5, problem: { question: "1 + 2", reference: "3" }, members: [{ a: 1 }] },
      { sequence: 8, problem: sum, members: [{ a: NaN }] }
    ])
    assert.deepStrictEqual(collected.names, ["a", "b"])
    assert.deepStrictEqual(collected.groups, { 3: [[null, 2], null], 5: [[1, null]], 8: [[null, null]] })
    assert.deepStrictEqual(collected.problems, [sum, { question: "1 + 2", reference: "3" }])
    assert.deepStrictEqual(collected.problemOf, { 3: 0, 5: 1, 8: 0 })
  })
})
