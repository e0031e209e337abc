import { Boxed } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as Vectors from "../fixtures/Vectors.ts"

const extracted = (text: string) => Option.getOrNull(Boxed.extract(text))

describe("Boxed.extract", () => {
  const table: ReadonlyArray<readonly [text: string, content: string | null]> = [
    ["so \\boxed{42}", "42"],
    ["\\boxed{a{b}c}", "a{b}c"],
    ["\\boxed{1} or rather \\boxed{2}", "2"],
    ["\\boxed{\\boxed{1}}", "\\boxed{1}"],
    ["\\boxed 7", "7"],
    ["\\boxed{x} and \\boxed 9", "x"],
    ["\\boxed {5}", null],
    ["\\boxed{}", ""],
    ["{ \\boxed{5}", "5"],
    ["\\boxed{5", null],
    ["a } b", null],
    ["} \\boxed{5}", null],
    ["\\boxed{5} }", null],
    ["5", null]
  ]

  it.each(table)("%s", (text, content) => {
    assert.strictEqual(extracted(text), content)
  })

  it.each(Vectors.of("rl"))("agrees with the cookbook: $id", ({ expected, text }) => {
    assert.deepStrictEqual(Boxed.extract(text), expected)
  })

  it.prop("finds the last boxed text", [Schema.Int, Schema.Int], ([first, last]) => {
    assert.strictEqual(extracted(`{\\boxed{${first}}} so \\boxed{${last}}.`), String(last))
  })
})
