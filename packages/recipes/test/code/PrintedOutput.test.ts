import { PythonJson } from "@effect-rl/core/renderers"
import { CodeBlock, PrintedOutput, ReturnedValue } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

describe("a printed output", () => {
  it.each([
    ["5", "5"],
    ["5\n\n", "  5"],
    ["1 2 \n 3\n", "1 2\n3"],
    ["1\r\n2", "1\n2"],
    ["a\n\n\nb", "a\nb"],
    ["a\nb", "a\n\nb"],
    ["0.333333", "0.3333333"],
    ["1.0\n2", "1\n2.0"],
    ["", ""],
    ["\n\n", ""]
  ])("%j matches %j", (output, expected) => assert.isTrue(PrintedOutput.matches(output, expected)))

  it.each([
    ["5", "6"],
    ["1 2", "2 1"],
    ["1\n2", "2\n1"],
    ["0.3334", "0.3333"],
    ["0.5 0.5000001", "0.5 0.5"],
    ["nan", "0.1"],
    ["100000000", "100000001"],
    ["", "0"],
    ["5\n5", "5"],
    ["Yes", "YES"]
  ])("%j does not match %j", (output, expected) => assert.isFalse(PrintedOutput.matches(output, expected)))

  const long = 1_000_000

  it.each([
    ["digits and a letter", `${"1".repeat(long)}x`],
    ["digits in groups", "1_".repeat(long)],
    ["digits after a point", `0.${"1".repeat(long)}.`],
    ["blanks", `${" ".repeat(long)}x`],
    ["empty lines", "\n".repeat(long)]
  ])(
    "a long output of %s is compared in time proportional to its length",
    (_, output) => assert.isFalse(PrintedOutput.matches(output, "14"))
  )
})

const tuple = (...items: ReadonlyArray<ReturnedValue.Returned>) => new Map([["tuple", items]])
const dict = (...pairs: ReadonlyArray<readonly [ReturnedValue.Returned, ReturnedValue.Returned]>) =>
  new Map([["dict", pairs]])

const named = (pairs: ReadonlyArray<readonly [ReturnedValue.Returned, string]>) =>
  pairs.map(([value, expected]) => [PythonJson.stringify(value), expected, value] as const)

describe("a returned value", () => {
  it.each(named([
    [5n, "5"],
    [5.0, "5"],
    [true, "1"],
    [null, "null"],
    ["a", "\"a\""],
    [[1n, [2n]], "[1, [2]]"],
    [tuple(1n, 2n), "[1, 2]"],
    [5n, "[5]"],
    [[1n, 2n], "[[1, 2]]"],
    [[tuple(1n, 2n)], "[[[1, 2]]]"],
    [dict(["a", 1n]), "{\"a\": 1}"],
    [dict([1n, "a"]), "{\"1\": \"a\"}"],
    [9007199254740993n, "9007199254740993"]
  ]))("%s matches %s", (_, expected, value) => assert.isTrue(ReturnedValue.matches(value, expected)))

  it.each(named([
    [5n, "6"],
    ["5", "5"],
    [null, "0"],
    [false, "null"],
    [[1n, 2n], "[2, 1]"],
    [[tuple(1n, 2n)], "[[1, 2]]"],
    [0.1 + 0.2, "0.3"],
    [NaN, "NaN"],
    [dict(["a", 1n]), "{\"a\": 1, \"b\": 2}"],
    [new Map([["set", [1n]]]), "[1]"],
    [new Map([["other", "Liar"]]), "[1]"],
    [9007199254740992n, "9007199254740993"],
    [dict([tuple(1n), 1n]), "{\"(1)\": 1}"],
    [5n, "not JSON"]
  ]))("%s does not match %s", (_, expected, value) => assert.isFalse(ReturnedValue.matches(value, expected)))

  it("with keys nested 400 levels deep is compared without overflowing the stack", () => {
    const key = Array.from({ length: 400 }).reduce<ReturnedValue.Returned>((inner) => tuple(inner), 1n)
    assert.isFalse(ReturnedValue.matches(dict([key, 1n]), "{\"1\": 1}"))
  })
})

describe("the program in a response", () => {
  it.each([
    ["```python\nprint(1)\n```", "print(1)"],
    ["```\nprint(1)```", "print(1)"],
    ["```py\n1\n```\nthen\n```js\n2\n```", "2"],
    ["```python\n\n  x  \n\n```", "x"],
    ["```python\n```", ""]
  ])("of %j is %j", (response, code) => assert.deepStrictEqual(CodeBlock.last(response), Option.some(code)))

  it.each(["print(1)", "```python\nprint(1)", "``` python\nprint(1)\n```"])(
    "is not in %j",
    (response) => assert.deepStrictEqual(CodeBlock.last(response), Option.none())
  )

  it.each([
    ["```python\n1\n```\n```python\n2\n```", "1"],
    ["```\n1\n```\n```js\n2\n```", "2"],
    ["print(1)\n", "print(1)"]
  ])(
    "of a benchmark's response %j is %j",
    (response, code) => assert.strictEqual(CodeBlock.firstPython(response), code)
  )
})
