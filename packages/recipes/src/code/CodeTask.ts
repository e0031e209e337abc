/** A programming problem, and the tests that decide whether a program solves it. */
import { SandboxFiles } from "@effect-rl/sandbox"

/** One run of a program. The process that runs a case never sees the texts of other cases. */
export interface Case {
  /** Standard input. For a function: its arguments as JSON, one per line. */
  readonly input: string
  /** Expected standard output. For a function: the expected return value as JSON. */
  readonly output: string
}

/** Tests of a program that reads standard input and writes standard output. */
export interface StdinTests {
  readonly _tag: "Stdin"
  readonly cases: ReadonlyArray<Case>
}

/** Tests that call a function of the program, or a method of its class `Solution`. */
export interface FunctionTests {
  readonly _tag: "Function"
  readonly functionName: string
  readonly cases: ReadonlyArray<Case>
}

/** Tests written in Python: code that calls a function of the program and asserts the result, as in MBPP and HumanEval. */
export interface AssertTests {
  readonly _tag: "Asserts"
  readonly functionName: string
  /** Python code, such as imports, that runs before the program and before the assertions. */
  readonly setup: string
  readonly code: string
}

export type Tests = StdinTests | FunctionTests | AssertTests

/** A problem with hidden tests. */
export interface CodeTask {
  /** The problem's id, unique within its dataset. */
  readonly id: string
  /** The problem as shown to the model. */
  readonly prompt: string
  readonly tests: Tests
  /** Tests that the model may see. They may also be among `tests`. Default: none. */
  readonly examples?: Tests
  /** A program that solves the problem. */
  readonly solution?: string
}

/**
 * The SHA-256 of the tests in hexadecimal. It depends on every test and on their order.
 *
 * @example
 * const tests: CodeTask.Tests = { _tag: "Stdin", cases: [{ input: "2 3", output: "5" }] }
 * const digest = CodeTask.digest(tests)
 */
export const digest = (tests: Tests): string =>
  SandboxFiles.digest(SandboxFiles.make(
    tests._tag === "Asserts"
      ? { asserts: JSON.stringify([tests.functionName, tests.setup, tests.code]) }
      : {
        cases: JSON.stringify([
          tests._tag === "Function" ? tests.functionName : null,
          tests.cases.map(({ input, output }) => [input, output])
        ])
      }
  ))

/** Whether there is any test to run. */
export const hasTests = (tests: Tests): boolean =>
  tests._tag === "Asserts" ? tests.code.trim() !== "" : tests.cases.length > 0
