// Trains with the tinker-cookbook, unmodified, against our server, and writes down how it went.
//   node scripts/conformance/cookbook.mjs [runs]      runs of reinforcement learning; 3 unless given
// Installs tinker-cookbook into $CONFORMANCE_ENVIRONMENTS/cookbook, which brings PyTorch and with it gigabytes. Where a Python
// already has it, name it in $COOKBOOK_PYTHON.
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { serve } from "./serve.mjs"

const runs = Number(process.argv[2] ?? 3)
const environments = process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance")
const model = resolve("packages/engine/presets/tiny-64")

const install = () => {
  const folder = join(environments, "cookbook")
  const python = join(folder, "bin/python")
  if (!existsSync(python)) execFileSync("python3", ["-m", "venv", folder])
  execFileSync(python, ["-m", "pip", "install", "-q", "tinker-cookbook[math-rl]"], { stdio: "inherit" })
  return python
}

const python = process.env.COOKBOOK_PYTHON ?? install()
const folder = mkdtempSync(join(tmpdir(), "cookbook-"))

/** Runs a recipe and returns its metrics, step by step. */
const train = (name, url, recipe, overrides) => {
  const log = join(folder, name)
  const shown = Object.entries(overrides).map(([key, value]) => `${key}=${value}`)
  const { status, stderr } = spawnSync(python, [
    "-m",
    recipe,
    ...shown,
    `log_path=${log}`,
    "behavior_if_log_dir_exists=delete"
  ], {
    env: { ...process.env, TINKER_BASE_URL: url, TINKER_API_KEY: "tml-local", HF_HUB_OFFLINE: "1" },
    encoding: "utf8",
    maxBuffer: 1 << 28
  })
  if (status !== 0) throw new Error(`${recipe} ended with ${status}:\n${stderr.slice(-3000)}`)
  return readFileSync(join(log, "metrics.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line))
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

const reinforcement = {
  env: "arithmetic",
  model_name: model,
  renderer_name: "qwen3_instruct",
  learning_rate: "1e-3",
  max_tokens: 32,
  groups_per_batch: 32,
  group_size: 8,
  max_steps: 15,
  loss_fn: "importance_sampling",
  eval_every: 0,
  save_every: 0
}

/** Sums that are answered in a sentence, which the model has never done. */
const conversations = Array.from({ length: 640 }, (_, index) => {
  const [left, right] = [(index * 37) % 50, (index * 61) % 50]
  return {
    messages: [
      { role: "user", content: `What is ${left} + ${right}?` },
      { role: "assistant", content: `The sum of ${left} and ${right} is ${left + right}.` }
    ]
  }
})
const dataset = join(folder, "sums.jsonl")
writeFileSync(dataset, conversations.map((one) => `${JSON.stringify(one)}\n`).join(""))

const supervision = {
  model_name: model,
  renderer_name: "qwen3_instruct",
  dataset,
  learning_rate: "1e-3",
  batch_size: 32,
  max_length: 256,
  num_epochs: 1,
  eval_every: 0,
  save_every: 0
}

const { stop, url } = await serve(join(folder, "checkpoints"), ["--model", model])
const rewards = Array.from({ length: runs }, (_, run) => {
  const steps = train(`rl-${run}`, url, "tinker_cookbook.recipes.math_rl.train", reinforcement)
  const rewardS = steps.map((metrics) => metrics["env/all/reward/total"]).filter((reward) => reward !== undefined)
  return { steps: rewardS.length, first: mean(rewardS.slice(0, 5)), last: mean(rewardS.slice(-5)) }
})
const nllS = train("sl", url, "tinker_cookbook.recipes.chat_sl.train", supervision)
  .map((metrics) => metrics.train_mean_nll)
  .filter((nll) => nll !== undefined)
await stop()

const packages = ["tinker-cookbook", "tinker", "torch", "transformers", "tml-renderers", "numpy"]
const versions = execFileSync(python, [
  "-c",
  `import importlib.metadata as m, platform; print(platform.python_version()); [print(n, m.version(n)) for n in ${
    JSON.stringify(packages)
  }]`
], { encoding: "utf8" }).trim().split("\n")

const command = (recipe, overrides) =>
  [
    `python -m ${recipe}`,
    ...Object.entries(overrides).map(([key, value]) =>
      `  ${key}=${
        value === model ? "\"$PWD/packages/engine/presets/tiny-64\"" : value === dataset ? "sums.jsonl" : value
      }`
    )
  ].join(" \\\n")
const fell = 1 - nllS.at(-1) / nllS[0]
const page = `# tinker-cookbook against \`effect-rl serve --backend engine\`

Run on ${
  new Date().toISOString().slice(0, 10)
} by \`node scripts/conformance/cookbook.mjs\`, everything from PyPI and unmodified: Python
${versions[0]}, ${versions.slice(1).join(", ")}; Node ${process.version}.

\`\`\`sh
effect-rl serve --port 8000 --model "$PWD/packages/engine/presets/tiny-64"
export TINKER_BASE_URL=http://127.0.0.1:8000 TINKER_API_KEY=tml-local
\`\`\`

## Reinforcement learning

\`\`\`sh
${command("tinker_cookbook.recipes.math_rl.train", reinforcement)}
\`\`\`

\`env/all/reward/total\`, mean over steps. The runs differ in what was sampled: the problems are the same, as this environment does not
read \`seed\`. The recipe's own loss, \`stable_reinforce\`, is not served, so \`loss_fn\` is set.

| run | steps | first 5 | last 5 | difference |
| --- | --- | --- | --- | --- |
${
  rewards.map(({ first, last, steps }, run) =>
    `| ${run} | ${steps} | ${first.toFixed(3)} | ${last.toFixed(3)} | ${(last - first).toFixed(3)} |`
  ).join("\n")
}

## Supervised learning

\`\`\`sh
${command("tinker_cookbook.recipes.chat_sl.train", supervision)}
\`\`\`

\`sums.jsonl\` holds ${conversations.length} conversations that answer a sum in a sentence, which the script writes. \`train_mean_nll\` fell from
${nllS[0].toFixed(3)} to ${nllS.at(-1).toFixed(3)} in ${nllS.length} steps, by ${(100 * fell).toFixed(0)} %.
`
console.log(page)
if (runs >= 3) writeFileSync("scripts/conformance/COOKBOOK.md", page)
rmSync(folder, { recursive: true, force: true })
const learned = rewards.every(({ first, last }) => last - first >= 0.3) && fell >= 0.2
process.exit(learned ? 0 : 1)
