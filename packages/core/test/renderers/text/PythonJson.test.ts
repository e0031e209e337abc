import { PythonJson } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

const rewrite = (text: string) => Result.map(PythonJson.parse(text), PythonJson.stringify)

describe("PythonJson round trip", () => {
  it.each([
    ["1.0", "1.0"],
    ["1e5", "100000.0"],
    ["1E+2", "100.0"],
    ["1e-7", "1e-07"],
    ["0.0001", "0.0001"],
    ["0.00001", "1e-05"],
    ["1e16", "1e+16"],
    ["123456789012345.6", "123456789012345.6"],
    ["100000000000000000000.0", "1e+20"],
    ["-0.0", "-0.0"],
    ["-0", "0"],
    ["1e400", "Infinity"],
    ["NaN", "NaN"],
    ["-Infinity", "-Infinity"],
    ["123456789012345678901234567890", "123456789012345678901234567890"]
  ])("spells the number %s as %s", (text, expected) => {
    assert.deepStrictEqual(rewrite(text), Result.succeed(expected))
  })

  it.each([
    ["{\"2\":\"two\",\"1\":\"one\"}", "{\"2\": \"two\", \"1\": \"one\"}"],
    ["{\"a\":1,\"b\":2,\"a\":3}", "{\"a\": 3, \"b\": 2}"],
    ["{\"__proto__\":{\"x\":1}}", "{\"__proto__\": {\"x\": 1}}"],
    [" [ 1 ,\t[ ] , { } ]\r\n", "[1, [], {}]"]
  ])("keeps the order of keys in %s", (text, expected) => {
    assert.deepStrictEqual(rewrite(text), Result.succeed(expected))
  })

  it.each([
    ["\"é 日本 😀\"", "\"\\u00e9 \\u65e5\\u672c \\ud83d\\ude00\""],
    ["\"\\ud83d\"", "\"\\ud83d\""],
    ["\"\\/ \\b\\f\\n\\r\\t \\u0001\u007f\"", "\"/ \\b\\f\\n\\r\\t \\u0001\\u007f\""]
  ])("escapes non-ASCII characters in %s", (text, expected) => {
    assert.deepStrictEqual(rewrite(text), Result.succeed(expected))
  })

  it.prop("preserves everything that JavaScript can represent", [Schema.Json], ([json]) => {
    const written = PythonJson.stringify(PythonJson.fromJson(json))
    assert.deepStrictEqual(JSON.parse(written), JSON.parse(JSON.stringify(json)))
    assert.deepStrictEqual(rewrite(written), Result.succeed(written))
  })
})

describe("PythonJson, for text that is not JSON,", () => {
  it.each([
    ["", "expected a value at the end"],
    ["{'a': 1}", "expected a key in double quotes at character 1, found \"'\""],
    ["{\"a\" 1}", "expected ':' at character 5, found \"1\""],
    ["{\"a\": 1,}", "expected a key in double quotes at character 8, found \"}\""],
    ["[1 2]", "expected ',' or ']' at character 3, found \"2\""],
    ["01", "expected nothing more at character 1, found \"1\""],
    ["\"a\nb\"", "expected a printable character or '\"' at character 2, found \"\\n\""],
    ["\"\\x\"", "expected an escape at character 2, found \"x\""],
    ["\"\\u12g4\"", "expected four hexadecimal digits at character 3, found \"1\""],
    ["\ufeff1", "expected a value at character 0, found \"\ufeff\""]
  ])("%j is refused", (text, problem) => {
    assert.deepStrictEqual(PythonJson.parse(text), Result.fail(problem))
  })

  it("refuses very deep nesting before the stack overflows", () => {
    assert.isTrue(Result.isFailure(PythonJson.parse("[".repeat(100_000))))
  })
})

describe("PythonJson.display", () => {
  it.each<[PythonJson.Value, string]>([
    [true, "True"],
    [null, "None"],
    ["text", "text"],
    [2n, "2"],
    [2, "2.0"],
    [NaN, "nan"],
    [-Infinity, "-inf"],
    [[true, "a"], "[true, \"a\"]"]
  ])("writes %o as Python's str does", (value, expected) => {
    assert.strictEqual(PythonJson.display(value), expected)
  })
})
