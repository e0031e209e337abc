import { Gsm8kRow } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as Vectors from "../fixtures/Vectors.ts"

describe("Gsm8kRow.finalAnswer", () => {
  const table: ReadonlyArray<readonly [solution: string, answer: string | null]> = [
    ["She makes 9 * 2 = $<<9*2=18>>18 a day.\n#### 18", "18"],
    ["#### 1,234", "1234"],
    ["#### : 7", "7"],
    ["x #### 5", "5"],
    ["x #### 1,005", "1,005"],
    ["#### 1\n#### 2", "2"],
    ["no answer", null]
  ]

  it.each(table)("%s", (solution, answer) => {
    assert.strictEqual(Option.getOrNull(Gsm8kRow.finalAnswer(solution)), answer)
  })

  it.each(Vectors.of("final"))("agrees with the cookbook: $id", ({ expected, text }) => {
    assert.deepStrictEqual(Gsm8kRow.finalAnswer(text), expected)
  })
})
