/** Compares a program's output with the expected output. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"
import * as PythonNumber from "../grading/PythonNumber.ts"

const lineEnds = "[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]"
const lineEnd = new RegExp(`\\r\\n|${lineEnds}`)

/** Python's `splitlines()`. */
const splitLines = (text: string): ReadonlyArray<string> => {
  const lines = text.split(lineEnd)
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines
}

const filled = (lines: ReadonlyArray<string>) => lines.filter((line) => line !== "")

const isSame = (left: ReadonlyArray<string>, right: ReadonlyArray<string>) =>
  left.length === right.length && left.every((line, index) => line === right[index])

/** Whether a number is close to the expected number by the rule of NumPy's `allclose`: within 10⁻⁸ + 10⁻⁵·|expected|. */
const isClose = (found: number, expected: number) =>
  found === expected || Math.abs(found - expected) <= 1e-8 + 1e-5 * Math.abs(expected)

const digits = /^\p{Nd}+$/u

const isWhole = (left: string, right: string) => digits.test(left) && digits.test(right)

/** Whether both have the same number of lines, not all of them integers, and each line is a number close to the expected number. */
const isNumbersClose = (found: ReadonlyArray<string>, expected: ReadonlyArray<string>) => {
  if (found.length !== expected.length) return false
  if (found.every((line, index) => isWhole(line, expected[index] ?? ""))) return false
  const numbers = Option.all([Option.all(found.map(PythonNumber.parse)), Option.all(expected.map(PythonNumber.parse))])
  return Option.exists(
    numbers,
    ([found, expected]) => found.every((value, index) => isClose(value, expected[index] ?? NaN))
  )
}

/**
 * Whether an output matches the expected output. White space around lines and empty lines are ignored. If every line is one number and not
 * all are integers, numbers are compared with a tolerance.
 *
 * @example
 * PrintedOutput.matches("1 \n2\n\n", "1\n2") // true
 * PrintedOutput.matches("0.3333333", "0.33333334") // true
 * PrintedOutput.matches("2 1", "1 2") // false
 *
 * @see tinker-cookbook `recipes/code_rl/lcb_utils.py`, which takes these rules from LiveCodeBench
 */
export const matches = (output: string, expected: string): boolean => {
  const lines = splitLines(output)
  const wanted = PythonText.strip(expected)
  if (PythonText.strip(lines.join("\n")) === wanted) return true
  if (PythonText.strip(lines.map(PythonText.strip).join("\n")) === wanted) return true
  const expectedLines = filled(expected.split("\n")).map(PythonText.strip)
  const filledLines = filled(lines)
  return isSame(lines, expectedLines) || isSame(filledLines, expectedLines) ||
    isNumbersClose(filledLines, expectedLines)
}
