// Executes the graph of every policy loss with torch and compares values and gradients with ours.
//   npx node --conditions=@effect-rl/source scripts/conformance/losses.mjs
// Needs a Python with torch (Debian: python3-torch); $CONFORMANCE_PYTHON names it. Writes LOSSES.md beside this script.
import * as Result from "effect/Result"
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { LossExpression } from "../../packages/core/src/losses.ts"
import * as Samples from "../../packages/core/test/losses/Samples.ts"

const hasTorch = (python) => spawnSync(python, ["-c", "import torch"], { stdio: "ignore" }).status === 0
const python = [process.env.CONFORMANCE_PYTHON ?? "python3", "/usr/bin/python3"].find(hasTorch)
if (python === undefined) {
  console.log("skipped: no Python with torch (Debian: python3-torch)")
  process.exit(0)
}

const seeds = Array.from({ length: 50 }, (_, seed) => seed + 100)
const cases = Samples.expressions.flatMap((expression) =>
  seeds.map((seed) => Samples.sample(expression, seed, seed % 2 === 0 ? 0.4 : 2))
)

const numbers = ({ data, shape }) => ({ data: shape.length === 0 ? data[0] : Array.from(data), shape })

const lines = cases.map(({ example, expression, logprobs }) => {
  const values = LossExpression.values(expression)(example)
  const inputs = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, numbers(value)]))
  return JSON.stringify({
    graph: expression.graph.graph,
    inputs: { ...inputs, logprobs: { data: logprobs, shape: [logprobs.length] } }
  })
})

const output = execFileSync(python, ["scripts/conformance/losses.py"], {
  input: lines.join("\n"),
  encoding: "utf8",
  maxBuffer: 2 ** 28
})
const theirs = output.trimEnd().split("\n").map((line) => JSON.parse(line))

/** The largest difference, relative to the largest value. */
const distance = (left, right) => {
  const scale = Math.max(1e-12, ...right.map(Math.abs))
  return Math.max(...right.map((value, at) => Math.abs((left[at] ?? NaN) - value))) / scale
}

const worst = new Map()
cases.forEach(({ example, expression, logprobs }, index) => {
  const { gradient, loss } = Result.getOrThrow(LossExpression.evaluate(expression, example, logprobs))
  const torch = theirs[index]
  const before = worst.get(expression) ?? [0, 0]
  worst.set(expression, [
    Math.max(before[0], distance([loss], [torch.loss])),
    Math.max(before[1], distance(Array.from(gradient), torch.gradient))
  ])
})

const row = (cells) => `| ${cells.join(" | ")} |`
const table = [
  row(["loss", "cases", "value", "gradient"]),
  row(["---", "---", "---", "---"]),
  ...Array.from(
    worst,
    ([{ name }, [value, gradient]]) =>
      row([`\`${name}\``, seeds.length, value.toExponential(1), gradient.toExponential(1)])
  )
].join("\n")
console.log(table)

const version = execFileSync(python, ["-c", "import torch; print(torch.__version__)"], { encoding: "utf8" }).trim()
writeFileSync(
  "scripts/conformance/LOSSES.md",
  `# Loss graphs executed with torch

Run on ${
    new Date().toISOString().slice(0, 10)
  } by \`npm run conformance:losses\`: torch ${version} in float64, on random data. The numbers
are the largest differences between torch's result and ours, relative to torch's; 1e-5 is the bound.

${table}
`
)
process.exit([...worst.values()].flat().every((one) => one <= 1e-5) ? 0 : 1)
