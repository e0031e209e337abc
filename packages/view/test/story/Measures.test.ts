import * as Measures from "@effect-rl/view/story/Measures"
import { assert, describe, it } from "@effect/vitest"

describe("a run's measures", () => {
  it("list each problem once, and each value under the name of its measure", () => {
    const sum = { question: "1 + 1", reference: "2" }
    const collected = Measures.collect([
      { sequence: 3, problem: sum, names: ["b"], members: [[2], null] },
      { sequence: 5, problem: { question: "1 + 2", reference: "3" }, names: ["a"], members: [[1]] },
      { sequence: 8, problem: sum, names: ["a"], members: [[null]] }
    ])
    assert.deepStrictEqual(collected.names, ["a", "b"])
    assert.deepStrictEqual(collected.groups, { 3: [[null, 2], null], 5: [[1, null]], 8: [[null, null]] })
    assert.deepStrictEqual(collected.problems, [sum, { question: "1 + 2", reference: "3" }])
    assert.deepStrictEqual(collected.problemOf, { 3: 0, 5: 1, 8: 0 })
  })

  it("tell problems apart whose texts differ only after the cut", () => {
    const cut = { question: "Read the story …", reference: "" }
    const { problemOf, problems } = Measures.collect([
      { sequence: 1, problem: { ...cut, digest: "0a" }, names: [], members: [] },
      { sequence: 2, problem: { ...cut, digest: "0b" }, names: [], members: [] }
    ])
    assert.deepStrictEqual(problemOf, { 1: 0, 2: 1 })
    assert.deepStrictEqual(problems, [cut, cut])
  })
})
