/**
 * Trains one run of each kind that the questions are about, through the command line: `node … Kinds.ts FOLDER [NAME …]`. Existing runs are
 * not repeated.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as Report from "../Report.ts"

const cli = join(import.meta.dirname, "../../packages/cli/src/bin.ts")

const own = (name: string) => join(import.meta.dirname, "recipes", `${name}.ts`)

const sums = ["arithmetic", "--model", "effect-rl/tiny-64"]
const sixteen = [...sums, "--groups-per-batch", "16", "--eval-every", "8", "--iterations", "16", "--save-every", "8"]
const tasks = ["--groups-per-batch", "8", "--iterations", "12", "--eval-every", "6", "--save-every", "6"]

export interface Kind {
  readonly name: string
  readonly args: ReadonlyArray<string>
  /** Number of updates after which the process is killed; the same command then resumes the run. */
  readonly killedAfter?: number
}

const kind = (name: string, ...args: ReadonlyArray<string>): Kind => ({ name, args })

export const kinds: ReadonlyArray<Kind> = [
  kind("arithmetic-0", ...sixteen, "--seed", "0"),
  kind("arith-seed1", ...sixteen, "--seed", "1"),
  kind("arith-cispo-1", ...sixteen, "--seed", "1", "--loss", "cispo"),
  kind("async-ppo", ...sixteen, "--pace", "async", "--max-steps-off-policy", "3", "--loss", "ppo"),
  kind("stale-0", ...sixteen, "--pace", "async", "--max-steps-off-policy", "1", "--on-stale", "drop", "--loss", "ppo"),
  kind("calculator-0", "calculator", ...tasks, "--audit", "--prices", "PRICES"),
  kind("guess-0", "guess-number", ...tasks),
  kind("supervised-0", "supervised", "--iterations", "16", "--eval-every", "8"),
  kind("dpo-0", "dpo", "--iterations", "16", "--eval-every", "8"),
  kind("collapse", ...sixteen, "--learning-rate", "0.05"),
  kind("hack-0", own("paid-by-length"), "--audit"),
  kind("fail-0", own("failing-judge"), "--audit"),
  { ...kind("killed-7", ...sixteen, "--seed", "7"), killedAfter: 5 },
  kind("wide-0", ...sums, "--group-size", "32", "--groups-per-batch", "4", "--iterations", "4", "--eval-every", "4")
]

const prices = { "effect-rl/tiny-tasks": { prefill: 0.1, sample: 0.4, train: 0.5 } }

const updates = (run: string) =>
  existsSync(join(run, "records.jsonl"))
    ? readFileSync(join(run, "records.jsonl"), "utf8").split("\"_tag\":\"Updated\"").length - 1
    : 0

/** Runs the command to its end, or kills it after this number of updates. */
const train = async (args: ReadonlyArray<string>, run: string, killedAfter = Infinity) => {
  const command = ["--conditions=@effect-rl/source", "--disable-warning=ExperimentalWarning", cli, "train", ...args]
  const child = spawn(process.execPath, [...command, "--log-path", run], { stdio: ["ignore", "ignore", "inherit"] })
  const watch = setInterval(() => {
    if (updates(run) >= killedAfter) child.kill("SIGKILL")
  }, 100)
  await once(child, "exit")
  clearInterval(watch)
}

/** Trains the runs that the folder lacks. */
export const make = async (folder: string, wanted: ReadonlyArray<Kind> = kinds) => {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, "..", "prices.json")
  writeFileSync(file, JSON.stringify(prices))
  for (const { args, killedAfter, name } of wanted) {
    const run = join(folder, name)
    if (existsSync(run)) continue
    Report.progress(name)
    const given = args.map((arg) => arg === "PRICES" ? file : arg)
    if (killedAfter !== undefined) await train(given, run, killedAfter)
    await train(given, run)
  }
}

if (import.meta.main) {
  const [folder = "runs", ...names] = process.argv.slice(2)
  await make(resolve(folder), names.length === 0 ? kinds : kinds.filter(({ name }) => names.includes(name)))
}
