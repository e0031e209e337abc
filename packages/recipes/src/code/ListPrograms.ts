/** Problems that ask for small programs over lists and strings, each with hidden tests. Some are held out from training. */
import { Seed } from "@effect-rl/core/environments"
import type * as CodeTask from "./CodeTask.ts"

/** One step of a program: its description, its Python code, and its implementation here. `x` is the value before the step. */
interface Step<A> {
  readonly says: string
  readonly python: string
  readonly run: (x: A) => A
}

const rest = (number: number, by: number) => ((number % by) + by) % by

const listSteps: ReadonlyArray<Step<ReadonlyArray<number>>> = [
  { says: "reverse it", python: "x[::-1]", run: (x) => x.toReversed() },
  { says: "sort it", python: "sorted(x)", run: (x) => x.toSorted((a, b) => a - b) },
  { says: "double each number", python: "[2 * n for n in x]", run: (x) => x.map((n) => 2 * n) },
  { says: "add 1 to each number", python: "[n + 1 for n in x]", run: (x) => x.map((n) => n + 1) },
  { says: "negate each number", python: "[-n for n in x]", run: (x) => x.map((n) => 0 - n) },
  { says: "square each number", python: "[n * n for n in x]", run: (x) => x.map((n) => n * n) },
  { says: "keep the even numbers", python: "[n for n in x if n % 2 == 0]", run: (x) => x.filter((n) => n % 2 === 0) },
  { says: "keep the odd numbers", python: "[n for n in x if n % 2 == 1]", run: (x) => x.filter((n) => n % 2 !== 0) },
  { says: "keep the positive numbers", python: "[n for n in x if n > 0]", run: (x) => x.filter((n) => n > 0) },
  { says: "drop the first number", python: "x[1:]", run: (x) => x.slice(1) },
  { says: "drop the last number", python: "x[:-1]", run: (x) => x.slice(0, -1) },
  { says: "take the first three numbers", python: "x[:3]", run: (x) => x.slice(0, 3) },
  { says: "take every second number", python: "x[::2]", run: (x) => x.filter((_, index) => index % 2 === 0) },
  { says: "take each number modulo 3", python: "[n % 3 for n in x]", run: (x) => x.map((n) => rest(n, 3)) },
  {
    says: "remove repeated numbers",
    python: "list(dict.fromkeys(x))",
    run: (x) => [...new Set(x)]
  }
]

const textSteps: ReadonlyArray<Step<string>> = [
  { says: "reverse it", python: "x[::-1]", run: (x) => Array.from(x).reverse().join("") },
  { says: "make it upper case", python: "x.upper()", run: (x) => x.toUpperCase() },
  { says: "make it lower case", python: "x.lower()", run: (x) => x.toLowerCase() },
  { says: "double it", python: "x + x", run: (x) => x + x },
  { says: "drop its first letter", python: "x[1:]", run: (x) => x.slice(1) },
  { says: "drop its last letter", python: "x[:-1]", run: (x) => x.slice(0, -1) },
  { says: "sort its letters", python: "''.join(sorted(x))", run: (x) => Array.from(x).sort().join("") },
  { says: "remove each a", python: "x.replace('a', '')", run: (x) => x.replaceAll("a", "") },
  { says: "put a dash between its letters", python: "'-'.join(x)", run: (x) => Array.from(x).join("-") },
  { says: "take its first three letters", python: "x[:3]", run: (x) => x.slice(0, 3) },
  {
    says: "take every second letter",
    python: "x[::2]",
    run: (x) => Array.from(x).filter((_, at) => at % 2 === 0).join("")
  }
]

/** The number of hidden tests of a program. */
const cases = 8

const drawList = (next: () => number): ReadonlyArray<number> =>
  Array.from({ length: 1 + Math.floor(next() * 7) }, () => Math.floor(next() * 19) - 9)

const drawText = (next: () => number): string =>
  Array.from({ length: 1 + Math.floor(next() * 7) }, () => "abcdeABC"[Math.floor(next() * 8)]).join("")

/** The Python program that applies the steps in order. */
const program = <A>(steps: ReadonlyArray<Step<A>>) =>
  [
    "def solve(x):",
    ...steps.map(({ python }) => `    x = ${python}`),
    "    return x"
  ].join("\n")

/**
 * The tests of a program. The empty value comes last, so a program that is right only for it, such as one that returns its input, fails an
 * earlier test.
 */
const testsOf = <A>(
  steps: ReadonlyArray<Step<A>>,
  draw: (next: () => number) => A,
  empty: A
): CodeTask.FunctionTests => {
  const next = Seed.uniform(Seed.derive(0, "list programs", ...steps.map(({ says }) => says)))
  const inputs = [...Array.from({ length: cases - 1 }, () => draw(next)), empty]
  return {
    _tag: "Function",
    functionName: "solve",
    cases: inputs.map((input) => ({
      input: JSON.stringify(input),
      output: JSON.stringify(steps.reduce((value, { run }) => run(value), input))
    }))
  }
}

const taskOf = <A>(
  kind: "list" | "text",
  steps: ReadonlyArray<Step<A>>,
  draw: (next: () => number) => A,
  empty: A
): CodeTask.CodeTask => {
  const says = steps.map(({ says }) => says).join(", then ")
  const tests = testsOf(steps, draw, empty)
  const what = kind === "list" ? "a list of whole numbers" : "a text"
  return {
    id: `${kind}: ${says}`,
    prompt: `Write a Python function solve(x) that takes ${what}: ${says}. Return the result. ` +
      "Answer with the function in a ```python block.",
    tests,
    examples: { ...tests, cases: tests.cases.slice(0, 1) },
    solution: program(steps)
  }
}

/** Whether returning the input passes every test, so the problem would need no program. */
const isIdentity = ({ tests }: CodeTask.CodeTask) =>
  tests._tag !== "Asserts" && tests.cases.every(({ input, output }) => input === output)

const pairs = <A>(steps: ReadonlyArray<Step<A>>) =>
  steps.flatMap((first) => [[first], ...steps.filter((second) => second !== first).map((second) => [first, second])])

/** Problems for programs of one or two steps, except problems that returning the input would solve. */
export const all: ReadonlyArray<CodeTask.CodeTask> = [
  ...pairs(listSteps).map((steps) => taskOf("list", steps, drawList, [])),
  ...pairs(textSteps).map((steps) => taskOf("text", steps, drawText, ""))
].filter((task) => !isIdentity(task))

/** Whether a problem is held out. About one in eight is. */
export const isHeldOut = ({ id }: CodeTask.CodeTask): boolean => Seed.derive(0, id) % 8 === 0

/**
 * The problems to train on.
 *
 * @example
 * const [first] = ListPrograms.trained
 */
export const trained = all.filter((task) => !isHeldOut(task))
export const heldOut = all.filter(isHeldOut)
