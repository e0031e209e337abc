import { CodeGrader, CodeSets, type CodeTask, PackedTests } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import * as HostPython from "../code/HostPython.ts"

/** Handwritten rows in each published format, because the real files were not available. */
const rows = {
  deepCoder: {
    problem: "Add two numbers.",
    solutions: ["print(1)"],
    tests: JSON.stringify([{ input: "2 3\n", output: "5\n", type: "stdin_stdout" }])
  },
  taco: {
    problem: "Add two numbers.",
    tests: JSON.stringify({ inputs: ["2 3", "4 5"], outputs: [["5"], "9"] })
  },
  tacoFunction: {
    problem: "Double a number.",
    tests: JSON.stringify({ fn_name: "double", inputs: ["2", "3"], outputs: ["4", "6"] })
  },
  lcb: {
    problem: "Double a number.",
    starter_code: "class Solution:\n    def double(self, n: int) -> int:\n        ",
    tests: JSON.stringify([
      { input: "2", output: "4", testtype: "functional", metadata: { func_name: "double" } },
      { input: "-1", output: "-2", testtype: "functional", metadata: { func_name: "double" } }
    ])
  },
  lcbMetadata: {
    problem: "Double a number.",
    metadata: "{\"func_name\": \"double\"}",
    tests: [{ input: "2", output: "4", testtype: "functional", metadata: null }]
  },
  liveCodeBench: {
    question_title: "Double",
    question_content: "Double a number.",
    question_id: "abc_001",
    platform: "leetcode",
    difficulty: "easy",
    contest_date: "2025-02-01T00:00:00",
    starter_code: "class Solution:\n    def double(self, n: int) -> int:\n        ",
    public_test_cases: JSON.stringify([{ input: "2", output: "4", testtype: "functional" }]),
    // The compressed form of [{"input": "[1]\n2", "output": "3", "testtype": "functional", "é": "€"}]
    private_test_cases:
      "eJxrYIoIYmBgiK5WyswrKC1RslJQijaMjckzUtJRUMovLYGKGYO4JanFJSWVBakggbTSvOSSzPy8xByQTEypgUGqJUg8ptTIIDFZqTa2kEEPALw7Glw=",
    metadata: "{\"func_name\": \"double\"}"
  },
  mbpp: {
    source_file: "Benchmark Questions Verification V2.ipynb",
    task_id: 2,
    prompt: "Write a function to find the shared elements from the given two lists.",
    code:
      "def help_it(x):\n    return set(x)\ndef similar_elements(a, b):\n    return tuple(help_it(a) & help_it(b))\n",
    test_imports: ["import math"],
    test_list: [
      "assert set(similar_elements((3, 4, 5, 6),(5, 7, 4, 10))) == set((4, 5))",
      "assert math.isclose(len(similar_elements((1,), (2,))), 0)"
    ]
  },
  mbppFull: {
    task_id: 601,
    text: "Write a function to double a number.",
    code: "def double(n):\r\n  return 2 * n",
    test_list: ["assert double(2) == 4"],
    test_setup_code: "",
    challenge_test_list: []
  },
  humanEval: {
    task_id: "HumanEval/32",
    prompt:
      "import math\n\n\ndef poly(xs: list, x: float):\n    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n\n\n" +
      "def find_zero(xs: list):\n    \"\"\" Find a zero of a line. \"\"\"\n",
    canonical_solution: "    return -xs[0] / xs[1]\n",
    test: "METADATA = {}\n\ndef check(candidate):\n    for xs in [[1, 2], [-6, 3]]:\n" +
      "        assert math.isclose(poly(xs, candidate(xs)), 0, abs_tol=1e-4)\n",
    entry_point: "find_zero"
  },
  humanEvalPlus: {
    task_id: "HumanEval/2",
    prompt: "def truncate_number(number: float) -> float:\n    \"\"\" The decimal part. \"\"\"\n",
    canonical_solution: "\n    return number % 1.0\n",
    test: "import numpy as np\n\ndef is_floats(x) -> bool:\n    if isinstance(x, float):\n        return True\n" +
      "    if isinstance(x, np.ndarray):\n        return x.dtype == np.float64\n    return False\n\n" +
      "def assertion(out, exp, atol):\n    exact_match = out == exp\n    if atol == 0 and is_floats(exp):\n        atol = 1e-6\n" +
      "    if not exact_match and atol != 0:\n        assert np.allclose(out, exp, rtol=1e-07, atol=atol)\n" +
      "    else:\n        assert exact_match\n\ndef check(candidate):\n    inputs = [[3.5], [1.33], [123.0]]\n" +
      "    results = [0.5, 0.33, 0.0]\n    for i, (inp, exp) in enumerate(zip(inputs, results)):\n" +
      "        assertion(candidate(*inp), exp, 0)\n",
    entry_point: "truncate_number"
  }
}

const taskOf = <Row>({ source, task }: CodeSets.CodeSet<Row>, row: unknown) =>
  Effect.map(Schema.decodeUnknownEffect(source.row)(row), (row) => Option.getOrUndefined(task(row, 7)))

const expectTask = <Row>(set: CodeSets.CodeSet<Row>, row: unknown) =>
  Effect.flatMap(taskOf(set, row), Effect.fromNullishOr)

const isSolvedBy = (tests: CodeTask.Tests, code: string) =>
  CodeGrader.judge(tests, code).pipe(Effect.map(({ passed }) => passed), Effect.provide(HostPython.layer))

describe("a DeepCoder row", () => {
  it.effect("has program cases, as a list or as two lists", () =>
    Effect.gen(function*() {
      const task = yield* expectTask(CodeSets.deepCoder, rows.deepCoder)
      assert.deepStrictEqual(task.tests, { _tag: "Stdin", cases: [{ input: "2 3\n", output: "5\n" }] })
      assert.strictEqual(task.id, "deepcoder-7")
      assert.deepStrictEqual((yield* expectTask(CodeSets.deepCoder, rows.taco)).tests, {
        _tag: "Stdin",
        cases: [{ input: "2 3", output: "5" }, { input: "4 5", output: "9" }]
      })
    }))

  it.effect("has function cases, named in the case, in the lists or in the row", () =>
    Effect.gen(function*() {
      const cases = [{ input: "2", output: "4" }]
      const lists = yield* expectTask(CodeSets.deepCoder, rows.tacoFunction)
      assert.deepStrictEqual(lists.tests, {
        _tag: "Function",
        functionName: "double",
        cases: [...cases, { input: "3", output: "6" }]
      })
      const inCase = yield* expectTask(CodeSets.deepCoder, rows.lcb)
      assert.deepStrictEqual(inCase.tests, {
        _tag: "Function",
        functionName: "double",
        cases: [...cases, { input: "-1", output: "-2" }]
      })
      const inRow = yield* expectTask(CodeSets.deepCoder, rows.lcbMetadata)
      assert.deepStrictEqual(inRow.tests, { _tag: "Function", functionName: "double", cases })
    }))

  it.effect("has the first solution, with or without a fence", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* expectTask(CodeSets.deepCoder, rows.deepCoder)).solution, "print(1)")
      const fenced = { ...rows.deepCoder, solutions: ["```python\nprint(2)\n```", "print(3)"] }
      assert.strictEqual((yield* expectTask(CodeSets.deepCoder, fenced)).solution, "print(2)")
      assert.isUndefined((yield* expectTask(CodeSets.deepCoder, rows.taco)).solution)
    }))

  it.effect("is left out if it has no question or no readable tests", () =>
    Effect.gen(function*() {
      for (const row of [{ ...rows.deepCoder, problem: " " }, { ...rows.deepCoder, tests: "[]" }, { problem: "q" }]) {
        assert.isUndefined(yield* taskOf(CodeSets.deepCoder, row))
      }
      assert.isUndefined(yield* taskOf(CodeSets.deepCoder, { ...rows.deepCoder, tests: "not JSON" }))
    }))

  it.effect("has the cookbook's prompt", () =>
    Effect.gen(function*() {
      const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16)
      const { prompt } = yield* expectTask(CodeSets.deepCoder, { ...rows.deepCoder, problem: "Q" })
      assert.strictEqual(prompt.length, 566)
      assert.strictEqual(digest(prompt), "1c4085816d418fe2")
      const starter = { ...rows.deepCoder, problem: "Q", starter_code: "def f(): pass" }
      assert.strictEqual(digest((yield* expectTask(CodeSets.deepCoder, starter)).prompt), "21952a4ab795cfed")
    }))
})

describe("a LiveCodeBench row", () => {
  it.effect("has its public tests as examples, and its packed private tests in addition", () =>
    Effect.gen(function*() {
      const { examples, id, tests } = yield* expectTask(CodeSets.liveCodeBench, rows.liveCodeBench)
      const shown = { input: "2", output: "4" }
      assert.strictEqual(id, "abc_001")
      assert.deepStrictEqual(examples, { _tag: "Function", functionName: "double", cases: [shown] })
      assert.deepStrictEqual(tests, {
        _tag: "Function",
        functionName: "double",
        cases: [shown, { input: "[1]\n2", output: "3" }]
      })
    }))

  it.effect("accepts private tests as plain JSON", () =>
    Effect.gen(function*() {
      const row = { ...rows.liveCodeBench, private_test_cases: "[{\"input\": \"1\", \"output\": \"2\"}]" }
      const { tests } = yield* expectTask(CodeSets.liveCodeBench, row)
      assert.strictEqual(tests._tag === "Asserts" ? 0 : tests.cases.length, 2)
    }))

  it("cannot be unpacked if its packed tests are damaged", () => {
    for (const damaged of ["", "!", "eJxrYJnKxg", Buffer.from("no zlib").toString("base64")]) {
      assert.deepStrictEqual(PackedTests.unpack(damaged), Option.none())
    }
  })
})

describe.skipIf(!HostPython.isThere)("tests that are assertions", () => {
  it.effect.each([
    { name: "MBPP", task: expectTask(CodeSets.mbpp, rows.mbpp), id: "mbpp_2" },
    { name: "the whole of MBPP", task: expectTask(CodeSets.mbpp, rows.mbppFull), id: "mbpp_601" },
    { name: "HumanEval", task: expectTask(CodeSets.humanEval, rows.humanEval), id: "HumanEval/32" },
    { name: "HumanEval+", task: expectTask(CodeSets.humanEvalPlus, rows.humanEvalPlus), id: "HumanEval/2" }
  ])("of $name are passed by the reference solution and by no other program", ({ id, task }) =>
    Effect.gen(function*() {
      const { solution = "", tests, ...found } = yield* task
      assert.strictEqual(found.id, id)
      assert.isTrue(yield* isSolvedBy(tests, solution))
      const name = tests._tag === "Asserts" ? tests.functionName : ""
      assert.isFalse(yield* isSolvedBy(tests, `def ${name}(*xs):\n    return 77`))
      assert.isFalse(yield* isSolvedBy(tests, ""))
    }))

  it.effect("give MBPP problems the cookbook's prompt", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        (yield* expectTask(CodeSets.mbpp, rows.mbppFull)).prompt,
        "Write a function to double a number.\n\nExample test: `assert double(2) == 4`\n\n" +
          "Write a Python function that satisfies the requirements. " +
          "Provide ONLY the function definition in a ```python code block."
      )
    }))
})
