import * as PythonNumber from "@effect-rl/recipes/grading/PythonNumber"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

describe("a number as Python's float() reads it", () => {
  it.each([
    ["1", 1],
    ["-1.5", -1.5],
    ["+.5", 0.5],
    ["2.", 2],
    ["1_000.2_5e1_0", 1000.25e10],
    [" 1e-3\n", 1e-3],
    ["-inf", -Infinity]
  ])("%j is %d", (text, number) => assert.deepStrictEqual(PythonNumber.parse(text), Option.some(number)))

  it.each(["", ".", "_1", "1_", "1__0", "1_.5", "1._5", "1e_5", "1e", "e5", "1.2.3", "0x10", "1 2"])(
    "%j is no number",
    (text) => assert.deepStrictEqual(PythonNumber.parse(text), Option.none())
  )
})
