// Grades generated programs with tinker-cookbook's grader and with ours, and explains the disagreements.
//   npx node --conditions=@effect-rl/source scripts/conformance/code.mjs
// Needs a Python that can install tinker-cookbook and numpy, and bubblewrap. Writes CODE.md beside this script.
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { CodeBlock, CodeGrader, ListPrograms } from "../../packages/recipes/src/index.ts"
import { Sandbox } from "../../packages/sandbox/src/index.ts"
import * as Environment from "./environment.mjs"

const version = "0.6.1"
const python = Environment.prepare("code", ["numpy"], ["--no-deps", `tinker-cookbook==${version}`])
if (python === undefined) {
  console.log("skipped: no Python that has tinker-cookbook and numpy")
  process.exit(0)
}

const indent = (code) => code.split("\n").map((line) => `    ${line}`).join("\n")

/** Ways to write a function, by description; `right` is the body of a correct one. */
const functions = (right, wrong) => ({
  "right": right,
  "another task's": wrong,
  "method of Solution": `class Solution:\n${indent(right.replace("solve(x)", "solve(self, x)"))}`,
  "returns a tuple":
    `${right}\ninner = solve\ndef solve(x):\n    y = inner(x)\n    return tuple(y) if isinstance(y, list) else y`,
  "returns an iterator": `${right}\ninner = solve\ndef solve(x):\n    return map(str, inner(x))`,
  "prints noise": `${right}\ninner = solve\ndef solve(x):\n    print("noise")\n    return inner(x)`,
  "raises": "def solve(x):\n    raise ValueError(x)",
  "exits with 0": "import sys\ndef solve(x):\n    sys.exit(0)",
  "returns a text": `${right}\ninner = solve\ndef solve(x):\n    return str(inner(x))`,
  "returns a list of it": `${right}\ninner = solve\ndef solve(x):\n    return [inner(x)]`,
  "returns None": "def solve(x):\n    pass",
  "is not Python": "def solve(x:\n    return",
  "has another name": right.replace("solve", "answer"),
  "counts on imports":
    `${right}\ninner = solve\ndef solve(x: List[int]) -> Optional[int]:\n    return deepcopy(inner(x))`,
  "returns a set": `${right}\ninner = solve\ndef solve(x):\n    return set(inner(x))`,
  "returns floats":
    `${right}\ninner = solve\ndef solve(x):\n    y = inner(x)\n    return [float(n) for n in y] if isinstance(y, list) else y`
})

const body = (code) => code.replace("def solve(x):\n", "").replaceAll(/^ {4}/gm, "").replace("return x", "")

/** Ways to write a program that reads a list and prints another. */
const programs = (right, wrong) => {
  const read = "x = list(map(int, input().split()))\n"
  const print = "print(*x)"
  return {
    "right": `${read}${body(right)}${print}`,
    "another task's": `${read}${body(wrong)}${print}`,
    "guarded": `def main():\n${indent(`${read}${body(right)}${print}`)}\nif __name__ == "__main__":\n    main()`,
    "reads all of it": `import sys\nx = list(map(int, sys.stdin.read().split()))\n${body(right)}${print}`,
    "reads lines": `import sys\nx = [int(n) for line in sys.stdin for n in line.split()]\n${body(right)}${print}`,
    "spaces at the end": `${read}${body(right)}print(*x, end=" \\n\\n\\n")`,
    "empty lines between": `${read}${body(right)}print("\\n")\n${print}`,
    "line by line": `${read}${body(right)}for n in x:\n    print(n)`,
    "as a list": `${read}${body(right)}print(x)`,
    "floats": `${read}${body(right)}print(*map(float, x))`,
    "sorted": `${read}${body(right)}print(*sorted(x))`,
    "exits with 0 at the end": `import sys\n${read}${body(right)}${print}\nsys.exit(0)`,
    "exits with 1 at the end": `import sys\n${read}${body(right)}${print}\nsys.exit(1)`,
    "raises at the end": `${read}${body(right)}${print}\nraise ValueError`,
    "exits at once": "import sys\nsys.exit(0)",
    "prints nothing": read,
    "prints twice": `${read}${body(right)}${print}\n${print}`,
    "is not Python": "print(",
    "counts on imports": `x = deepcopy(list(map(int, stdin.readline().split())))\n${body(right)}${print}`,
    "writes to standard output": `import sys\n${read}${body(right)}sys.stdout.write(" ".join(map(str, x)))`
  }
}

const numbers = (by) => ({
  "all digits": `x = int(input())\nprint(x / ${by})`,
  "six digits": `x = int(input())\nprint(f"{x / ${by}:.6f}")`,
  "three digits": `x = int(input())\nprint(f"{x / ${by}:.3f}")`,
  "whole": `x = int(input())\nprint(x // ${by})`,
  "with a word": `x = int(input())\nprint("answer", x / ${by})`
})

const sum = "a, b = map(int, input().split())\n"

/** Right programs for the sum of two numbers that use parts of Python which graders replace. */
const sums = {
  "ends with exit()": `${sum}print(a + b)\nexit()`,
  "ends with quit()": `${sum}print(a + b)\nquit()`,
  "ends with exit(0)": `${sum}print(a + b)\nexit(0)`,
  "ends with sys.exit()": `import sys\n${sum}print(a + b)\nsys.exit()`,
  "opens standard input by its number": "a, b = map(int, open(0).read().split())\nprint(a + b)",
  "reads bytes": "import sys\na, b = map(int, sys.stdin.buffer.read().split())\nprint(a + b)",
  "reads lines of bytes":
    "import sys\ninput = sys.stdin.buffer.readline\na, b = map(int, input().split())\nprint(a + b)",
  "reads with os.read": "import os\na, b = map(int, os.read(0, 1000).split())\nprint(a + b)",
  "writes with os.write": `import os\n${sum}os.write(1, str(a + b).encode())`,
  "writes bytes": `import sys\n${sum}sys.stdout.buffer.write(str(a + b).encode())`,
  "assigns a global name":
    `${sum}total = 0\ndef add(n):\n    global total\n    total += n\nadd(a)\nadd(b)\nprint(total)`,
  "reads to the end of the input":
    "s = 0\nwhile True:\n    try:\n        line = input()\n    except EOFError:\n        break\n    s += sum(map(int, line.split()))\nprint(s)",
  "runs in a thread":
    `import threading\ndef main():\n    a, b = map(int, input().split())\n    print(a + b)\nt = threading.Thread(target=main)\nt.start()\nt.join()`,
  "imports NumPy": `import numpy as np\n${sum}print(int(np.array([a, b]).sum()))`
}

const counting = {
  "counts its calls": "seen = []\ndef solve(x):\n    seen.append(x)\n    return len(seen)"
}

const runs = {
  "counts its runs": "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\nprint(builtins.runs)"
}

const oneTwo = [{ input: "1", output: "1" }, { input: "1", output: "2" }]

const oneOne = [{ input: "1", output: "1" }, { input: "1", output: "1" }]

/** The same programs, for tests that expect that each case starts anew. */
const anew = (ways) =>
  Object.fromEntries(Object.entries(ways).map(([way, code]) => [`${way}, anew in each case`, code]))

const lists = ListPrograms.all.filter(({ id, solution }) => id.startsWith("list") && solution.split("\n").length === 4)

/** Every seventh program, paired with the next one. */
const chosen = lists.flatMap((task, at) => at % 7 === 0 ? [[task, lists[(at + 1) % lists.length]]] : []).slice(0, 28)

const texts = ListPrograms.all.filter(({ id }) => id.startsWith("text")).filter((_, at) => at % 10 === 0)

const spaced = (json) => JSON.parse(json).join(" ")

const pairsOf = (tests, ways) => Object.entries(ways).map(([way, code]) => ({ tests, way, code }))

const pairs = [
  ...[...chosen, ...texts.map((task, at) => [task, texts[(at + 1) % texts.length]])].flatMap(([task, other]) =>
    pairsOf({ ...task.tests, cases: task.tests.cases.slice(0, 3) }, functions(task.solution, other.solution))
  ),
  ...chosen.flatMap(([task, other]) => {
    const cases = task.tests.cases.slice(0, 3).map(({ input, output }) => ({
      input: spaced(input),
      output: spaced(output)
    }))
    return pairsOf({ _tag: "Stdin", cases }, programs(task.solution, other.solution))
  }),
  ...[3, 7, 9, 11].flatMap((by) =>
    pairsOf({
      _tag: "Stdin",
      cases: [5, 100, -4].map((x) => ({ input: String(x), output: (x / by).toPrecision(9) }))
    }, numbers(by))
  ),
  ...pairsOf({ _tag: "Stdin", cases: [{ input: "1 2", output: "3" }] }, sums),
  ...pairsOf({ _tag: "Stdin", cases: oneTwo }, runs),
  ...pairsOf({ _tag: "Stdin", cases: oneOne }, anew(runs)),
  ...pairsOf({ _tag: "Function", functionName: "solve", cases: oneTwo }, counting),
  ...pairsOf({ _tag: "Function", functionName: "solve", cases: oneOne }, anew(counting))
]

const responses = [
  "",
  "\n",
  "text\n",
  "```\n",
  "```python\n",
  "```py\n",
  "x = 1\n",
  "  y = 2",
  "``` \n",
  "`",
  "```c++\n"
]
const said = Array.from(
  { length: 500 },
  (_, seed) =>
    Array.from(
      { length: 1 + seed % 9 },
      (_, at) => responses[(seed * 7919 + at * at * 104729 + at * seed) % responses.length]
    ).join("")
)

const theirCases = ({ _tag, cases, functionName }) =>
  cases.map((one) => ({
    ...one,
    testtype: _tag === "Function" ? "functional" : "stdin_stdout",
    metadata: { func_name: functionName ?? null }
  }))

const lines = [
  ...pairs.map(({ code, tests }) => JSON.stringify({ cases: theirCases(tests), code })),
  ...said.map((response) => JSON.stringify({ response }))
]
const theirs = execFileSync(python, ["scripts/conformance/code_graders.py"], {
  input: lines.join("\n"),
  encoding: "utf8",
  maxBuffer: 2 ** 28
}).trimEnd().split("\n").map((line) => JSON.parse(line))

const ours = await Effect.runPromise(
  Effect.forEach(pairs, ({ code, tests }) => CodeGrader.judge(tests, code), { concurrency: 4 }).pipe(
    Effect.provide(Sandbox.Sandbox.layerBubblewrap())
  )
)

const noBytes = "the cookbook replaces standard input and output by texts without bytes or a file behind them"
const noExit = "the cookbook sets `exit` and `quit` to None"
const shared = "all cases share a process in the cookbook; here each has its own"

/** Disagreements with a known cause, by the way in which the program is written. */
const judged = {
  "Stdin: ends with exit(): passes here": noExit,
  "Stdin: ends with quit(): passes here": noExit,
  "Stdin: ends with exit(0): passes here": noExit,
  "Stdin: opens standard input by its number: passes here": noBytes,
  "Stdin: reads bytes: passes here": noBytes,
  "Stdin: reads lines of bytes: passes here": noBytes,
  "Stdin: reads with os.read: passes here": noBytes,
  "Stdin: writes with os.write: passes here": noBytes,
  "Stdin: writes bytes: passes here": noBytes,
  "Stdin: assigns a global name: passes here":
    "the cookbook makes the program the body of a function, so its global names are local",
  "Stdin: imports NumPy: fails here": "the sandbox's Python has no NumPy on this machine; the cookbook's has",
  "Stdin: counts its runs: fails here": shared,
  "Stdin: counts its runs, anew in each case: passes here": shared,
  "Function: counts its calls: fails here": shared,
  "Function: counts its calls, anew in each case: passes here": shared,
  "Function: exits with 0: fails here":
    "the function ends the process with code 0, which the cookbook counts as success: an exploit there, a wrong answer here"
}

const disagreements = pairs.flatMap(({ code, tests, way }, at) =>
  ours[at].passed === theirs[at] ? [] : [{ form: tests._tag, way, code, ours: ours[at], theirs: theirs[at] }]
)
const extracted = said.filter((response, at) =>
  Option.getOrNull(CodeBlock.last(response)) !== theirs[pairs.length + at]
)

const groups = Map.groupBy(
  disagreements,
  ({ form, ours, way }) => `${form}: ${way}: ${ours.passed ? "passes here" : "fails here"}`
)
const row = (cells) => `| ${cells.join(" | ")} |`
const count = (form) => pairs.filter(({ tests }) => tests._tag === form).length
const passed = ours.filter(({ passed }) => passed).length

const page = [
  "# Graders of programs",
  `tinker-cookbook ${version} and ours, ${new Date().toISOString().slice(0, 10)}, by \`scripts/conformance/code.mjs\`.`,
  `${pairs.length} programs with tests (${count("Function")} functions, ${
    count("Stdin")
  } programs), of which ${passed} pass here: ` +
  `**${pairs.length - disagreements.length} verdicts agree**, ${disagreements.length} do not. ` +
  `${said.length} responses: ${said.length - extracted.length} extracted programs agree.`,
  disagreements.length === 0 ? "" : [
    row(["program", "count", "why"]),
    row(["---", "---:", "---"]),
    ...Array.from(groups, ([name, all]) => row([name, all.length, judged[name] ?? "not judged"]))
  ].join("\n")
].filter((part) => part !== "").join("\n\n")
console.log(page)
for (const [name, [first]] of groups) {
  if (judged[name] === undefined) console.log(`\n${name}\n${first.code}\n${JSON.stringify(first.ours.ran.at(-1))}`)
}
for (const response of extracted.slice(0, 5)) console.log("extraction:", JSON.stringify(response))
writeFileSync(new URL("CODE.md", import.meta.url), `${page}\n`)
process.exitCode = [...groups.keys()].every((name) => judged[name] !== undefined) && extracted.length === 0 ? 0 : 1
