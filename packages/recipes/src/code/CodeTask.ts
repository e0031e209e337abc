/** A programming problem, and the tests that decide whether a program solves it. */
import { SandboxFiles } from "@effect-rl/sandbox"

/** One run of a program. Neither text is ever shown to the program of another case. */
export interface Case {
  /** Standard input; of a function, its arguments as JSON, one to a line. */
  readonly input: string
  /** Standard output; of a function, the value that it returns, as JSON. */
  readonly output: string
}

/** A program that reads standard input and writes standard output. */
export interface StdinTests {
  readonly _tag: "Stdin"
  readonly cases: ReadonlyArray<Case>
}

/** A function of the program, or a method of its class `Solution`. */
export interface FunctionTests {
  readonly _tag: "Function"
  readonly functionName: string
  readonly cases: ReadonlyArray<Case>
}

/** Python that calls a function of the program and asserts what it returns, as in MBPP and HumanEval. */
export interface AssertTests {
  readonly _tag: "Asserts"
  readonly functionName: string
  /** Python that runs before the program and before the assertions, such as imports. */
  readonly setup: string
  readonly code: string
}

export type Tests = StdinTests | FunctionTests | AssertTests

/** A problem with hidden tests. */
export interface CodeTask {
  /** Unique within its dataset. */
  readonly id: string
  /** The problem as it is put to the model. */
  readonly prompt: string
  readonly tests: Tests
  /** Tests that may be shown to the model; none unless given. They are not part of `tests`. */
  readonly examples?: Tests
  /** A program that solves the problem. */
  readonly solution?: string
}

/**
 * SHA-256 of tests, in hexadecimal. It changes with any of them, and with their order.
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

/** Whether there is anything to run. */
export const hasTests = (tests: Tests): boolean =>
  tests._tag === "Asserts" ? tests.code.trim() !== "" : tests.cases.length > 0
