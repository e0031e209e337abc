/** Datasets of programming problems with tests. */
import { PythonJson } from "@effect-rl/core/renderers"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as CodeBlock from "../code/CodeBlock.ts"
import * as CodePrompt from "../code/CodePrompt.ts"
import * as CodeTask from "../code/CodeTask.ts"
import * as PackedTests from "./PackedTests.ts"
import * as Source from "./Source.ts"

/** A dataset, and the conversion of its rows to tasks. `task` is none for a row without a question or without tests. */
export interface CodeSet<Row> {
  readonly source: Source.Source<Row>
  readonly task: (row: Row, index: number) => Option.Option<CodeTask.CodeTask>
}

const set = <Row>(source: Source.Source<Row>, task: CodeSet<Row>["task"]): CodeSet<Row> => ({ source, task })

/** The JSON value in a text, undefined if the text is not JSON. Other values are returned unchanged. */
const decoded = (given: unknown): unknown =>
  typeof given === "string" ? Result.getOrUndefined(Result.map(PythonJson.parse(given), PythonJson.toJson)) : given

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value)

/** A case read from any of the published formats. */
interface Read extends CodeTask.Case {
  readonly functionName: string | undefined
}

const functionNameIn = (metadata: unknown): string | undefined => {
  const given = decoded(metadata)
  const name = Predicate.hasProperty(given, "func_name") ? given.func_name : undefined
  return typeof name === "string" && name !== "" ? name : undefined
}

/** Reads `{ input, output, testtype, metadata }`, the format of LiveCodeBench. */
const readCase = (given: unknown, metadata: unknown): ReadonlyArray<Read> => {
  if (!Predicate.isObject(given)) return []
  const field = (name: string): unknown => Predicate.hasProperty(given, name) ? given[name] : undefined
  const isFunction = field("testtype") === "functional"
  return [{
    input: textOf(field("input")),
    output: textOf(field("output")),
    functionName: isFunction ? functionNameIn(field("metadata")) ?? functionNameIn(metadata) : undefined
  }]
}

const at = (values: ReadonlyArray<unknown>, index: number): unknown => values[index] ?? values[0] ?? ""

/**
 * Reads `{ inputs: […], outputs: […], fn_name? }`, the format of TACO. If one list is shorter, its first item replaces the missing ones.
 */
const readLists = (inputs: ReadonlyArray<unknown>, outputs: ReadonlyArray<unknown>, name: unknown) =>
  Array.from({ length: Math.max(inputs.length, outputs.length) }, (_, index): Read => {
    const output = at(outputs, index)
    return {
      input: textOf(at(inputs, index)),
      output: textOf(Array.isArray(output) ? output[0] ?? "" : output),
      functionName: typeof name === "string" ? name : undefined
    }
  })

const isArray = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

const readCases = (given: unknown, metadata: unknown): ReadonlyArray<Read> => {
  const tests = decoded(given)
  if (Predicate.hasProperty(tests, "inputs") && Predicate.hasProperty(tests, "outputs")) {
    const { inputs, outputs } = tests
    const name = Predicate.hasProperty(tests, "fn_name") ? tests.fn_name : undefined
    return isArray(inputs) && isArray(outputs) ? readLists(inputs, outputs, name) : []
  }
  return (isArray(tests) ? tests : [tests]).flatMap((test) => readCase(test, metadata))
}

const testsOf = (cases: ReadonlyArray<Read>): CodeTask.Tests => {
  const functionName = cases[0]?.functionName
  const bare = cases.map(({ input, output }) => ({ input, output }))
  return functionName === undefined ? { _tag: "Stdin", cases: bare } : { _tag: "Function", functionName, cases: bare }
}

/**
 * The tests of a row, in any of the formats that DeepCoder and LiveCodeBench use.
 *
 * @example
 * const tests = CodeSets.tests(`[{"input": "2 3", "output": "5", "testtype": "stdin_stdout"}]`)
 *
 * @see tinker-cookbook `taco_to_lcb_format`, `postprocess_lcb_sample`
 */
export const tests = (given: unknown, metadata?: unknown): CodeTask.Tests => testsOf(readCases(given, metadata))

const optional = Schema.optionalKey(Schema.NullOr(Schema.Unknown))
const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

/** The first of a row's published solutions, which may be in a fenced block. */
const firstSolution = (given: unknown) => {
  const [first] = isArray(given) ? given : []
  return typeof first === "string" ? Option.getOrElse(CodeBlock.last(first), () => first) : undefined
}

const isFilled = (text: string | null | undefined): text is string => text != null && text.trim() !== ""

/** Competition problems with tests. */
export const deepCoder = set(
  Source.make({
    name: "deepcoder",
    repository: "agentica-org/DeepCoder-Preview-Dataset",
    configs: ["primeintellect", "taco", "lcbv5"],
    splits: { train: "train" },
    licence: "MIT",
    row: Schema.Struct({
      question: optionalText,
      prompt: optionalText,
      problem: optionalText,
      starter_code: optionalText,
      tests: optional,
      ground_truth: optional,
      metadata: optional,
      solutions: optional
    })
  }),
  ({ ground_truth, metadata, problem, prompt, question, solutions, starter_code, tests: given }, index) => {
    const text = [question, prompt, problem].find(isFilled)
    const hidden = tests(given ?? ground_truth, metadata)
    const solution = firstSolution(solutions)
    if (text === undefined || !CodeTask.hasTests(hidden)) return Option.none()
    return Option.some({
      id: `deepcoder-${index}`,
      prompt: CodePrompt.liveCodeBench(text, isFilled(starter_code) ? starter_code : ""),
      tests: hidden,
      ...(isFilled(solution) && { solution })
    })
  }
)

/** The Codeforces and LiveCodeBench problems that DeepCoder holds out. */
export const deepCoderTest = set(
  { ...deepCoder.source, name: "deepcoder_test", configs: ["codeforces", "lcbv5"], splits: { test: "test" } },
  deepCoder.task
)

/** Competition problems by date. Private tests are compressed; see `PackedTests`. */
export const liveCodeBench = set(
  Source.make({
    name: "livecodebench",
    repository: "livecodebench/code_generation_lite",
    configs: ["default"],
    splits: { test: "test" },
    licence: "CC-BY-4.0 for the collection; the problems are the contests'",
    row: Schema.Struct({
      question_content: Schema.String,
      question_id: Schema.String,
      starter_code: optionalText,
      public_test_cases: Schema.String,
      private_test_cases: Schema.String,
      metadata: optional
    })
  }),
  ({ metadata, private_test_cases, public_test_cases, question_content, question_id, starter_code }) => {
    const shown = readCases(public_test_cases, metadata)
    const hidden = readCases(
      Option.getOrElse(PackedTests.unpack(private_test_cases), () => private_test_cases),
      metadata
    )
    const all = testsOf([...shown, ...hidden])
    if (hidden.length === 0 || question_content.trim() === "") return Option.none()
    return Option.some({
      id: question_id,
      prompt: CodePrompt.liveCodeBench(question_content, isFilled(starter_code) ? starter_code : ""),
      tests: all,
      ...(shown.length > 0 && { examples: testsOf(shown) })
    })
  }
)

const functionsOf = (code: string) => Array.from(code.matchAll(/^def\s+([A-Za-z_]\w*)/gm), ([, name = ""]) => name)

/** The last function in a solution that a test mentions. */
const tested = (code: string, test: string) =>
  functionsOf(code).findLast((name) => new RegExp(`\\b${name}\\b`).test(test))

/** Small problems for beginners, from the sanitized subset. */
export const mbpp = set(
  Source.make({
    name: "mbpp",
    repository: "google-research-datasets/mbpp",
    configs: ["sanitized"],
    splits: { train: "train", validation: "validation", test: "test", prompt: "prompt" },
    licence: "CC-BY-4.0",
    row: Schema.Struct({
      task_id: Schema.Union([Schema.Int, Schema.BigInt]),
      prompt: optionalText,
      text: optionalText,
      code: Schema.String,
      test_list: Schema.Array(Schema.String),
      test_imports: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
      test_setup_code: optionalText
    })
  }),
  ({ code, prompt, task_id, test_imports, test_list, test_setup_code, text }) => {
    const [first] = test_list
    const question = [prompt, text].find(isFilled)
    const functionName = first === undefined ? undefined : tested(code, first)
    if (first === undefined || question === undefined || functionName === undefined) return Option.none()
    const setup = [...(test_imports ?? []), test_setup_code ?? ""].join("\n")
    return Option.some({
      id: `mbpp_${task_id}`,
      prompt: CodePrompt.mbpp(question, first),
      tests: { _tag: "Asserts", functionName, setup, code: test_list.join("\n") },
      examples: { _tag: "Asserts", functionName, setup, code: first },
      solution: code
    })
  }
)

const humanEvalSet = (name: string, repository: string, licence: string) =>
  set(
    Source.make({
      name,
      repository,
      configs: [name === "humaneval" ? "openai_humaneval" : "default"],
      splits: { test: "test" },
      licence,
      row: Schema.Struct({
        task_id: Schema.String,
        prompt: Schema.String,
        canonical_solution: Schema.String,
        test: Schema.String,
        entry_point: Schema.String
      })
    }),
    ({ canonical_solution, entry_point, prompt, task_id, test }) =>
      test.trim() === "" ? Option.none() : Option.some({
        id: task_id,
        prompt: CodePrompt.humanEval(prompt),
        // The prompt ends inside the function, and the tests rely on its imports and other functions.
        tests: { _tag: "Asserts", functionName: entry_point, setup: `${prompt}\n    pass\n`, code: test },
        solution: `${prompt}${canonical_solution}`
      })
  )

export const humanEval = humanEvalSet("humaneval", "openai/openai_humaneval", "MIT")

/** The HumanEval problems with many more tests. */
export const humanEvalPlus = humanEvalSet("humanevalplus", "evalplus/humanevalplus", "Apache-2.0")
