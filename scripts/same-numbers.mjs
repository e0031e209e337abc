// Trains some runs for a few iterations in two checkouts, and compares what they sampled, how it was rewarded, what they measured and the
// weights and the optimizer that they saved, bit for bit. A change of the structure alone must leave all of it as it was.
//   npm run same-numbers -- FOLDER [JOB …]   FOLDER is another checkout of this repository, with its dependencies installed
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const small = "--iterations 3 --eval-every 0"

/** The training command of each job. */
const jobs = {
  "main job": `arithmetic ${small} --groups-per-batch 16`,
  gsm8k: `gsm8k ${small} --model effect-rl/tiny-128 --data sample --groups-per-batch 4 --group-size 4 --max-tokens 64`,
  calculator: `calculator ${small} --groups-per-batch 8`,
  "guess-number": `guess-number ${small} --groups-per-batch 8`,
  supervised: "supervised --iterations 4 --eval-every 0",
  dpo: "dpo --iterations 4 --eval-every 0",
  streaming: `arithmetic ${small} --groups-per-batch 8 --pace streaming --minibatches 1`,
  "streaming in parts": `arithmetic ${small} --groups-per-batch 8 --pace streaming --minibatches 4 --concurrency 1`,
  "asynchronous, no step ahead":
    `arithmetic ${small} --groups-per-batch 8 --pace async --max-steps-off-policy 0 --loss ppo`,
  "KL, substeps, dynamic sampling":
    `arithmetic ${small} --groups-per-batch 8 --kl-coefficient 0.1 --substeps 2 --min-informative 6 --credit normalized`
}

const train = (checkout, job, folder) => {
  const options = ["--conditions=@effect-rl/source", "--disable-warning=ExperimentalWarning"]
  const words = ["train", ...jobs[job].split(" "), "--workers", "1", "--log-path", folder]
  const { status, stderr, stdout } = spawnSync(process.execPath, [...options, "packages/cli/src/bin.ts", ...words], {
    cwd: checkout,
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`${job} in ${checkout}:\n${stdout}\n${stderr}`)
}

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 12)

const digestAll = (texts) => texts.length === 0 ? "none" : digest(texts.join("\n"))

const linesOf = (path) =>
  existsSync(path)
    ? readFileSync(path, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
    : []

/** What each group was sampled and rewarded. Groups are written in the order in which they ended, which is not the same each time. */
const groupsOf = (folder) => {
  const groups = linesOf(join(folder, "payloads.jsonl")).filter(({ members }) => members !== undefined)
  return {
    samples: digestAll(
      groups.map(({ key, members }) => {
        const turns = members.map(({ turns }) => turns.map(({ logprobs, tokens }) => [tokens, logprobs]))
        return JSON.stringify([key, turns])
      }).sort()
    ),
    rewards: digestAll(groups.map(({ key, rewards }) => JSON.stringify([key, rewards])).sort())
  }
}

const isTime = (name) => /^time\/|seconds|tokens_per_second/.test(name)

const metricsOf = (folder) =>
  linesOf(join(folder, "metrics.jsonl")).map((metrics) =>
    Object.entries(metrics).filter(([name]) => !isTime(name)).sort()
  )

const weightsOf = (folder) => {
  const checkpoints = join(folder, "checkpoints")
  return digestAll(
    readdirSync(checkpoints, { recursive: true }).map(String).filter((path) => path.endsWith(".safetensors")).sort()
      .map(
        (path) => `${path} ${digest(readFileSync(join(checkpoints, path)))}`
      )
  )
}

const numbersOf = (folder) => ({
  ...groupsOf(folder),
  metrics: digestAll(metricsOf(folder).map((line) => JSON.stringify(line))),
  weights: weightsOf(folder)
})

/** The names of the metrics that differ between two runs. */
const differing = (folder, other) => {
  const ours = metricsOf(folder).map(Object.fromEntries)
  const theirs = metricsOf(other).map(Object.fromEntries)
  const names = new Set([...ours, ...theirs].flatMap(Object.keys))
  return [...names].filter((name) => ours.some((line, index) => line[name] !== theirs[index]?.[name]))
}

const [other, ...only] = process.argv.slice(2)
if (other === undefined) throw new Error("expected the folder of another checkout, such as ../before")

const kept = mkdtempSync(join(tmpdir(), "effect-rl-same-"))
let differences = 0
for (const job of Object.keys(jobs).filter((name) => only.length === 0 || only.includes(name))) {
  const folder = (place) => join(kept, `${job.replaceAll(/\W+/g, "-")}-${place}`)
  train(resolve("."), job, folder("here"))
  train(resolve(other), job, folder("there"))
  const [here, there] = [numbersOf(folder("here")), numbersOf(folder("there"))]
  const words = Object.entries(here).map(([what, value]) =>
    value === there[what] ? `${what} ${value}` : `${what} DIFFER (${value}, ${there[what]})`
  )
  console.log(`${job}: ${words.join(", ")}`)
  if (words.some((word) => word.includes("DIFFER"))) {
    differences++
    console.log(`  metrics that differ: ${differing(folder("here"), folder("there")).join(", ") || "none"}`)
  }
}
rmSync(kept, { recursive: true })
console.log(differences === 0 ? "the same numbers in both" : `${differences} jobs have other numbers`)
if (differences > 0) process.exitCode = 1
