// Runs unmodified tinker-cookbook recipes against our server, and records the results.
//   npm run conformance:cookbook              all recipes; writes COOKBOOK.md beside this script
//   npm run conformance:cookbook -- rl_loop   those whose names begin so
// The cookbook comes from PyPI, and with it gigabytes of PyTorch where $CONFORMANCE_PYTHON has none. A Python that already has the
// cookbook is named in $COOKBOOK_PYTHON.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Folder from "./cookbook/folder.mjs"
import { left, model, other, recipes } from "./cookbook/recipes.mjs"
import { hasTorch, prepare, versions } from "./environment.mjs"
import { serve } from "./serve.mjs"

const version = "0.6.1"
const chosen = process.argv.slice(2)

/** The cookbook's requirements, except tml-renderers 0.4.1: PyPI has only versions up to 0.2.1. */
const required = [
  ..."aiohttp anyio blobfile chz cloudpickle datasets huggingface-hub math-verify numpy pandas pillow pydantic pylatexenc"
    .split(" "),
  ..."pyrage rich safetensors sympy termcolor textarena tiktoken tinker tml-renderers tqdm transformers".split(" "),
  ...(hasTorch ? [] : ["torch"])
]
const python = process.env.COOKBOOK_PYTHON ??
  prepare("cookbook", ["--upgrade-strategy", "only-if-needed", ...required], [
    "--no-deps",
    `tinker-cookbook==${version}`
  ])
if (python === undefined) {
  console.log("skipped: tinker-cookbook cannot be installed from PyPI")
  process.exit(0)
}

const folder = mkdtempSync(join(tmpdir(), "cookbook-"))
const models = Folder.fill(folder, [model, other])

const slug = (name) => name.replaceAll(/\W+/g, "-")

const lines = (file) => readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line))

const lastOf = (name) => lines(join(folder, slug(name), "checkpoints.jsonl")).at(-1)

/** The last sampler checkpoint of a finished recipe. */
const checkpoint = (name) => lastOf(name).sampler_path

/** Makes a recipe start from the last state of another. */
const resume = (name, other) => {
  mkdirSync(join(folder, slug(name)))
  writeFileSync(join(folder, slug(name), "checkpoints.jsonl"), `${JSON.stringify({ ...lastOf(other), batch: 0 })}\n`)
}

const metricsOf = (log, metric) => {
  const file = join(log, "metrics.jsonl")
  if (!existsSync(file)) return []
  return lines(file).map((metrics) => metrics[metric]).filter((value) => typeof value === "number")
}

const offline = { HF_HUB_OFFLINE: "1", HF_HOME: join(folder, "hf"), TINKER_COOKBOOK_RUNS_DIR: join(folder, "runs") }

/** Recipes without `log_path` write under $TINKER_COOKBOOK_RUNS_DIR; small programs of our own have no `behavior_if_log_dir_exists`. */
const run = (url, { log, metric, module, name, resumes, script, settings }) => {
  if (resumes !== undefined) resume(name, resumes)
  const own = settings(checkpoint)
  const shown = Object.entries(own).map(([key, value]) => `${key}=${value}`)
  const added = log === undefined ? [`log_path=${slug(name)}`] : []
  const { signal, status, stderr } = spawnSync(python, [
    ...(script === undefined ? ["-m", module] : [script]),
    ...shown,
    ...added
  ], {
    cwd: folder,
    env: { ...process.env, ...offline, TINKER_BASE_URL: url, TINKER_API_KEY: "tml-local" },
    encoding: "utf8",
    timeout: 600_000,
    maxBuffer: 1 << 28
  })
  const values = metricsOf(join(folder, log ?? slug(name)), metric)
  return { name, shown, values, ended: status === 0, stderr: signal === null ? stderr : `${stderr}\n${signal}` }
}

const lastLine = (text) => text.trim().split("\n").at(-1).trim()

const resultOf = ({ metric, refused }, { ended, stderr, values }) => {
  if (refused !== undefined) {
    return !ended && stderr.includes(refused) ? "refused by name" : "expected to be refused"
  }
  if (!ended) return `failed: ${lastLine(stderr).slice(0, 200)}`
  if (values.length === 0) return `failed: ${metric} is in no metrics`
  return `${values.length} steps, \`${metric}\` ${values[0].toFixed(3)} → ${values.at(-1).toFixed(3)}`
}

const asked = recipes.filter(({ name }) => chosen.length === 0 || chosen.some((one) => name.startsWith(one)))
const { stop, url } = await serve(join(folder, "checkpoints"), models.flatMap((one) => ["--model", one]))
const results = []
for (const recipe of asked) {
  const outcome = run(url, recipe)
  const result = resultOf(recipe, outcome)
  console.log(`${recipe.name}: ${result}`)
  if (result.startsWith("failed") || result.startsWith("expected")) console.error(outcome.stderr.slice(-6000))
  results.push({ recipe, result, settings: outcome.shown })
}
await stop()

const row = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
const table = (head, rows) => [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")
const date = new Date().toISOString().slice(0, 10)
const packages = ["tinker-cookbook", "tinker", "torch", "transformers", "datasets", "tml-renderers"]

const page = () =>
  `# tinker-cookbook against \`effect-rl serve --backend engine\`

Run on ${date} by \`npm run conformance:cookbook\`, everything from PyPI and unmodified:
${versions(python, packages)}; Node ${process.version}.

PyPI has tml-renderers up to 0.2.1, where the cookbook asks for 0.4.1: it is for models called Inkling, which no recipe here has.

The recipes run offline, in a folder that has for every model and dataset of the hub a folder of the same name: the preset tiny-64 with a
context of 4,096 for \`${model}\` and \`${other}\`, and rows of sums in the columns that the dataset has. The server serves those
folders under the same names (\`--model ${model}=FOLDER\`). Everything is small, so that a result says that a recipe runs from its first
step to its last checkpoint; learning shows where there were steps enough.

${table(["recipe", "result"], results.map(({ recipe, result }) => [recipe.name, result]))}

\`math_rl\` and \`rubric\` default to \`loss_fn=stable_reinforce\`, which needs what the hosted service records when it samples; they are run with
another, and the last row shows what the default says. \`math_rl\` has no setting for a reference, so
[a short program](cookbook/math_rl_with_kl.py) gives its configuration one. \`rl_loop\` goes on from the state of \`sl_loop\`, by a line in its
\`checkpoints.jsonl\`: the tiny model by itself boxes no answer to its question, and no reward differs. Rewards of
\`rlhf_pipeline\` compare two answers and add up to 0; the tiny model knows no game, and wins none of \`text_arena\`, \`guess_number\` and
\`twenty_questions\`.

## Settings

${
    results.map(({ recipe, settings }) => `- ${recipe.name}: \`${settings.join(" ").replaceAll(process.cwd(), ".")}\``)
      .join("\n")
  }

## Not run

${table(["recipes", "what they need"], left)}
`
if (chosen.length === 0) writeFileSync("scripts/conformance/COOKBOOK.md", page())
rmSync(folder, { recursive: true, force: true })
const isGood = results.every(({ result }) => !result.startsWith("failed") && !result.startsWith("expected"))
process.exit(isGood ? 0 : 1)
