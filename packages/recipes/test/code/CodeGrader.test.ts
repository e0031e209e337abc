import { CodeGrader, CodeTask } from "@effect-rl/recipes"
import { Outcome, Sandbox, SandboxError } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as HostPython from "./HostPython.ts"

const sums: CodeTask.Tests = {
  _tag: "Stdin",
  cases: [{ input: "2 3\n", output: "5\n" }, { input: "-4 4\n", output: "0\n" }]
}

const reversed: CodeTask.Tests = {
  _tag: "Function",
  functionName: "solve",
  cases: [{ input: "[1, 2, 3]\n2", output: "[3, 2]" }, { input: "[]\n5", output: "[]" }]
}

const asserts = (code: string, functionName = "f"): CodeTask.Tests => ({
  _tag: "Asserts",
  functionName,
  setup: "",
  code
})

const judge = (tests: CodeTask.Tests, code: string, options: CodeGrader.Options = { timeout: "1 minute" }) =>
  CodeGrader.judge(tests, code, options).pipe(Effect.provide(HostPython.layer))

const passes = (tests: CodeTask.Tests, code: string) => Effect.map(judge(tests, code), ({ passed }) => passed)

describe.skipIf(!HostPython.isThere)("the code grader", () => {
  it.effect("passes a program that prints the expected output in every case", () =>
    Effect.gen(function*() {
      const { passed, verdict } = yield* judge(sums, "print(sum(map(int, input().split())))")
      assert.isTrue(passed)
      assert.deepStrictEqual(verdict, {
        provider: "scripted",
        outcome: "passed",
        digest: CodeTask.digest(sums),
        tests: [{ name: "1", passed: true }, { name: "2", passed: true }]
      })
      assert.match(verdict.digest ?? "", /^[0-9a-f]{64}$/)
    }))

  it.effect("stops at the first case that fails, and shows what was expected", () =>
    Effect.gen(function*() {
      const { passed, ran, verdict } = yield* judge(sums, "print(6)")
      assert.isFalse(passed)
      assert.strictEqual(verdict.outcome, "Wrong Answer")
      const detail = String.raw`input "2 3\n", output "6\n", expected "5\n"`
      assert.deepStrictEqual(ran, [{ name: "1", failure: "Wrong Answer", detail }])
    }))

  it.effect.each([
    { does: "exits with a code", code: "import sys\nprint(sum(map(int, sys.stdin.read().split())))\nsys.exit(1)" },
    { does: "guards its main part", code: "if __name__ == '__main__':\n    print(sum(map(int, input().split())))" },
    { does: "counts on the common imports", code: "print(reduce(add, map(int, stdin.readline().split())))" },
    { does: "opens standard input by its number", code: "print(sum(map(int, open(0).read().split())))" }
  ])("passes a correct program that $does", ({ code }) =>
    Effect.gen(function*() {
      assert.isTrue(yield* passes(sums, code))
    }))

  it.effect("names the way in which a program failed", () =>
    Effect.gen(function*() {
      const failed = (code: string, options: CodeGrader.Options = {}) =>
        Effect.map(judge(sums, code, options), ({ ran }) => ran)
      const error = { name: "1", failure: "Runtime Error" } as const
      assert.deepStrictEqual(yield* failed("1 / 0"), [{ ...error, detail: "ZeroDivisionError: division by zero" }])
      assert.deepStrictEqual(yield* failed("def f(:"), [{ ...error, detail: "SyntaxError: invalid syntax" }])
      assert.deepStrictEqual(yield* failed("while True: pass", { timeout: "500 millis" }), [
        { name: "1", failure: "Time Limit Exceeded", detail: "wall time" }
      ])
    }))

  it.effect.each([
    "def solve(xs, k):\n    return xs[::-1][:k]",
    "class Solution:\n    def solve(self, xs: List[int], k):\n        return tuple(reversed(xs))[:k]",
    "def solve(xs, k):\n    print('noise')\n    return xs[::-1][:k]"
  ])("passes a correct function: %j", (code) =>
    Effect.gen(function*() {
      assert.isTrue(yield* passes(reversed, code))
    }))

  it.effect.each([
    "def solve(xs, k):\n    return xs",
    "def other(xs, k):\n    return xs[::-1][:k]",
    "def solve(xs, k):\n    print('[3, 2]')",
    "import os\ndef solve(xs, k):\n    os._exit(0)",
    "def solve(xs, k):\n    return set(xs)"
  ])("fails a wrong function: %j", (code) =>
    Effect.gen(function*() {
      assert.isFalse(yield* passes(reversed, code))
    }))

  it.effect("runs assertions on the program's answers, without the program itself", () =>
    Effect.gen(function*() {
      const tests = asserts("assert f(2) == 4\nassert f(f(3)) == 81\nassert [f(i) for i in range(3)] == [0, 1, 4]")
      assert.isTrue(yield* passes(tests, "def f(x):\n    return x * x"))
      const { verdict } = yield* judge(tests, "def f(x):\n    return 2 * x")
      assert.strictEqual(verdict.outcome, "Wrong Answer")
      assert.strictEqual(verdict.tests?.[0]?.detail, "Wrong Answer: AssertionError: ")
    }))

  it.effect.each([
    {
      does: "changes a list in place",
      tests: "a = [2, 1]\nf(a)\nassert a == [1, 2]",
      right: "def f(x):\n    x.sort()",
      wrong: "def f(x):\n    x.reverse()\n    x.reverse()"
    },
    {
      does: "changes what its arguments hold",
      tests:
        "rows, seen = [[0], [0]], {1: {2}}\nrow = rows[1]\nf(rows, seen=seen)\nassert row == [7]\nassert seen == {1: {2, 3}}",
      right: "def f(rows, seen):\n    rows[1][0] = 7\n    seen[1].add(3)",
      wrong: "def f(rows, seen):\n    rows[1] = 7\n    seen[1].add(3)"
    },
    {
      does: "changes texts, None, tuples and bytes in a list in place",
      tests: "a = ['h', None, (1, 2), b'x', 3]\nf(a)\nassert a == [3, b'x', (1, 2), None, 'h']",
      right: "def f(x):\n    x.reverse()",
      wrong: "def f(x):\n    x.sort(key=str)"
    },
    {
      does: "replaces items by others of another kind",
      tests: "a = [[0], [0], (1,), [2], {'a': 1}, frozenset({1})]\nrow = a[0]\n" +
        "f(a)\nassert a == [[0], 7, 5, (2,), None, frozenset({2})]\nassert a[0] is row",
      right: "def f(x):\n    x[1:] = [7, 5, (2,), None, frozenset({2})]",
      wrong: "def f(x):\n    x[1:] = [7, 5, (2,), {}, frozenset({2})]"
    },
    {
      does: "changes lists that a dictionary holds",
      tests: "seen = {'a': [1], 'b': [2], 'c': {}}\none, two = seen['a'], seen['b']\nf(seen)\n" +
        "assert seen == {'a': [1, 5], 'c': None, 'd': [3]}\nassert one == [1, 5] and seen['a'] is one and two == [2]",
      right: "def f(x):\n    x['a'].append(5)\n    del x['b']\n    x['c'], x['d'] = None, [3]",
      wrong: "def f(x):\n    x['a'].append(5)\n    del x['b']\n    x['c'], x['d'] = {}, [3]"
    },
    {
      does: "changes a list within a tuple",
      tests: "pair = ([1], 'x')\nheld = [pair]\nf(held)\nassert pair == ([1, 2], 'x') and held[0] is pair",
      right: "def f(x):\n    x[0][0].append(2)",
      wrong: "def f(x):\n    x[0] = ([2], 'x')"
    },
    {
      does: "is tested with the items of a set of texts",
      tests: "for w in {'apple', 'pear', 'fig', 'cherry', 'plum', 'kiwi'}:\n    assert f(w) == len(w)",
      right: "def f(x):\n    return len(x)",
      wrong: "def f(x):\n    return len(x) + 1"
    },
    {
      does: "remembers earlier calls",
      tests: "assert f() == 1\nassert f() == 2\nassert f(f()) == 4",
      right: "c = 0\ndef f(step=1):\n    global c\n    c += 1\n    return c",
      wrong: "def f(step=1):\n    return 1"
    },
    {
      does: "returns an object that is known by its text",
      tests: "assert str(f()) == 'x'\nassert f'{f()}' == 'x'\nassert repr(f()) == 'A'",
      right:
        "class A:\n    def __str__(self): return 'x'\n    def __repr__(self): return 'A'\ndef f():\n    return A()",
      wrong: "class A:\n    pass\ndef f():\n    return A()"
    },
    {
      does: "is tested with values that are drawn at random",
      tests: "import random\nfor _ in range(20):\n    x = random.random()\n    assert f(x) == 2 * x",
      right: "def f(x):\n    return 2 * x",
      wrong: "def f(x):\n    return 3 * x"
    },
    {
      does: "draws at random",
      tests: "assert f(f(None)) == 1",
      right: "import os\ndef f(x):\n    return list(os.urandom(8)) if x is None else 1",
      wrong: "import os\ndef f(x):\n    return list(os.urandom(8))"
    }
  ])("tells a right function from a wrong one that $does", ({ right, tests, wrong }) =>
    Effect.gen(function*() {
      assert.isTrue(yield* passes(asserts(tests), right))
      const { verdict } = yield* judge(asserts(tests), wrong)
      assert.strictEqual(verdict.outcome, "Wrong Answer")
    }))

  it.effect("runs HumanEval's check function, with values that JSON cannot represent", () =>
    Effect.gen(function*() {
      const tests = asserts(
        "import math\ndef check(candidate):\n" +
          "    assert candidate((1, 2)) == {1, 2}\n    assert math.isclose(candidate(()) or 0.5, 0.5)\n" +
          "    try:\n        candidate(None)\n        assert False\n    except TypeError:\n        pass\n"
      )
      assert.isTrue(yield* passes(tests, "def f(xs):\n    return set(xs)"))
      assert.isFalse(yield* passes(tests, "def f(xs):\n    return list(xs or [])"))
    }))

  it.effect("compares the floats of HumanEval+ with or without NumPy", () =>
    Effect.gen(function*() {
      const tests = asserts(
        "import numpy as np\ndef check(candidate):\n    for x, y in [(1.0, 0.5), (3.0, 1.5000001)]:\n" +
          "        assert candidate(x) == y or np.allclose(candidate(x), y, rtol=1e-07, atol=1e-6)\n"
      )
      assert.isTrue(yield* passes(tests, "def f(x):\n    return x / 2"))
      assert.isFalse(yield* passes(tests, "def f(x):\n    return x / 2.1"))
    }))

  it.effect("fails a program that returns an object if the assertions pass it to the next call", () =>
    Effect.gen(function*() {
      const tests = asserts("assert f(f(3)) == 81")
      const { verdict } = yield* judge(tests, "class Answer:\n    pass\ndef f(x):\n    return Answer()")
      assert.strictEqual(verdict.outcome, "Wrong Answer")
    }))

  it.effect.each([
    {
      form: "an output",
      tests: sums,
      code: "print('1' * 300_000)",
      length: 300_001,
      most: 262_160
    },
    {
      form: "a returned value",
      tests: reversed,
      code: "def solve(xs, k):\n    return [0] * 100_000",
      length: 300_013,
      most: 262_192
    },
    {
      form: "the answers to assertions",
      tests: asserts("assert f(0) == 1"),
      code: "def f(x):\n    return [0] * 100_000",
      length: 300_013,
      most: 262_304
    }
  ])("does not read $form of 300,000 characters", ({ code, length, most, tests }) =>
    Effect.gen(function*() {
      const { ran } = yield* judge(tests, code)
      const detail = `${length} characters, at most ${most} are read`
      assert.deepStrictEqual(ran, [{ name: "1", failure: "Output Limit Exceeded", detail }])
    }))

  it.effect("limits the answers to all rounds of assertions together", () =>
    Effect.gen(function*() {
      const tests = asserts("assert len(f(f(f('')))) >= 3000")
      const growing = (by: number) => `def f(x):\n    return x + 'a' * ${by}`
      assert.isTrue(yield* passes(tests, growing(1000)))
      assert.strictEqual((yield* judge(tests, growing(150_000))).verdict.outcome, "Output Limit Exceeded")
    }))

  it.effect("limits the calls that assertions make with a program's answers", () =>
    Effect.gen(function*() {
      const tests = asserts("x = f('')\nfor n in range(40):\n    assert f([x, n]) == n")
      const code = (length: number) => `def f(x):\n    return x[1] if isinstance(x, list) else 'a' * ${length}`
      assert.isTrue(yield* passes(tests, code(1000)))
      const { ran } = yield* judge(tests, code(200_000))
      assert.strictEqual(ran[0]?.failure, "Output Limit Exceeded")
      assert.include(ran[0]?.detail, "at most 4194304 are read")
    }))

  it.effect("reads a right answer of any length", () =>
    Effect.gen(function*() {
      const numbers = Array.from({ length: 50_000 }, (_, number) => [number])
      const pairs: CodeTask.Tests = {
        _tag: "Function",
        functionName: "f",
        cases: [{ input: "50000", output: JSON.stringify(numbers) }]
      }
      assert.isTrue(yield* passes(pairs, "def f(n):\n    return [[k] for k in range(n)]"))
      const lines = { input: "50000", output: numbers.join("\n") }
      assert.isTrue(yield* passes({ _tag: "Stdin", cases: [lines] }, "for k in range(int(input())): print(k)"))
    }))

  it.effect("shows the last line of long errors", () =>
    Effect.gen(function*() {
      const { ran } = yield* judge(sums, "import sys\nsys.stderr.write('x\\n' * 1_000_000)\nsys.exit(1 / 0)")
      assert.strictEqual(ran[0]?.detail, "ZeroDivisionError: division by zero")
    }))

  it.effect("refuses tests that it cannot run", () =>
    Effect.gen(function*() {
      const refused = (tests: CodeTask.Tests) =>
        Effect.map(Effect.flip(judge(tests, "def f(x):\n    return x")), ({ message }) => message)
      assert.strictEqual(yield* refused({ _tag: "Stdin", cases: [] }), "the tests cannot be run: there are none")
      assert.include(yield* refused(asserts("assert f(lambda: 1)")), "they pass f values that cannot be sent as data")
      const noJson: CodeTask.Tests = { _tag: "Function", functionName: "f", cases: [{ input: "{", output: "1" }] }
      assert.include(yield* refused(noJson), "the input { is not JSON")
    }))
})

describe("assertions that still make new calls after 64 rounds", () => {
  const Request = Schema.fromJsonString(
    Schema.Struct({
      nonce: Schema.String,
      answers: Schema.optionalKey(Schema.Array(Schema.Unknown)),
      calls: Schema.optionalKey(Schema.Array(Schema.Unknown))
    })
  )

  /** Assertions that make one more call than were answered, of which the first `answered(known)` were the same, and a program. */
  const judged = (answered: (known: number) => number) =>
    CodeGrader.judge(asserts("while f() == 1: pass"), "").pipe(Effect.provide(Sandbox.Sandbox.layerScripted({
      run: ({ command: { stdin } }) =>
        Effect.sync(() => {
          const { answers = [], calls, nonce } = Schema.decodeUnknownSync(Request)(stdin)
          const said = calls?.map(() => ({ value: 1 })) ??
            {
              passed: true,
              detail: "",
              calls: Array.from({ length: answers.length + 1 }, () => []),
              answered: answered(answers.length)
            }
          const stdout = new TextEncoder().encode(`\n${nonce} ${JSON.stringify(said)}\n`)
          return Outcome.Exited({ stdout, stderr: new Uint8Array(0), wallMillis: 0, code: 0 })
        })
    })))

  it.effect("fail a program whose answers never end a loop", () =>
    Effect.gen(function*() {
      const { verdict } = yield* judged((known) => known)
      assert.strictEqual(verdict.outcome, "Wrong Answer")
    }))

  it.effect("are refused if they make other calls though nothing else was answered", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(judged(() => 0))
      assert.include(message, "though the answers to earlier calls were the same")
    }))
})

describe("a sandbox that fails during grading", () => {
  const lost = new SandboxError.SandboxError({
    provider: "scripted",
    operation: "exec",
    reason: new SandboxError.Lost({ detail: "the power failed" })
  })

  it.effect("is replaced once, and a second failure is an error instead of a judgement", () => {
    let runs = 0
    const failing = Sandbox.Sandbox.layerScripted({ run: () => Effect.suspend(() => (runs++, Effect.fail(lost))) })
    return Effect.gen(function*() {
      assert.strictEqual(yield* Effect.flip(CodeGrader.judge(sums, "")), lost)
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(failing))
  })

  it.effect("is not mistaken for a program that was killed", () => {
    const ended = { stdout: new Uint8Array(0), stderr: new Uint8Array(0), wallMillis: 0 }
    const killing = Sandbox.Sandbox.layerScripted({ run: () => Effect.succeed(Outcome.Killed(ended)) })
    return Effect.gen(function*() {
      const error = yield* Effect.flip(CodeGrader.judge(sums, ""))
      assert.strictEqual(error.message, "scripted: exec: the sandbox was lost: the program was killed from outside")
    }).pipe(Effect.provide(killing))
  })
})
