/**
 * Compares the time of `npm start` here and at an earlier commit, in alternating rounds: an iteration of 32 problems × 8 attempts. The
 * first argument names the commit. Default: HEAD~1.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"

const rounds = 3
const iterations = 12
const reference = process.argv[2] ?? "HEAD~1"
const here = join(import.meta.dirname, "../..")
const scratch = mkdtempSync(join(tmpdir(), "effect-rl-against-"))

const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: here, encoding: "utf8" }).trim()

const link = (from: string, to: string) => {
  for (const name of readdirSync(from)) symlinkSync(join(from, name), join(to, name))
}

/** A checkout of a commit with its own packages and this checkout's dependencies. */
const checkout = (commit: string): string => {
  const root = join(scratch, "checkout")
  git("worktree", "add", "--detach", root, commit)
  const modules = join(root, "node_modules")
  mkdirSync(join(modules, "@effect-rl"), { recursive: true })
  for (const name of readdirSync(join(here, "node_modules")).filter((name) => name !== "@effect-rl")) {
    symlinkSync(join(here, "node_modules", name), join(modules, name))
  }
  link(join(root, "packages"), join(modules, "@effect-rl"))
  return root
}

interface Costs {
  readonly sampling: number
  readonly training: number
  readonly rewards: ReadonlyArray<number>
}

const fields = ["time/sampling", "time/training", "env/all/reward/total"] as const

let runs = 0

/** Trains, and returns the seconds of sampling and training in total, and the rewards, without the first iteration, a warm-up. */
const train = (root: string): Costs => {
  const folder = join(scratch, `run-${runs++}`)
  const flags = { iterations, "eval-every": 0, "save-every": 0, "log-path": folder }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  execFileSync(
    process.execPath,
    ["--conditions=@effect-rl/source", join(root, "packages/cli/src/bin.ts"), "train", "arithmetic", ...args],
    { cwd: root, stdio: "ignore" }
  )
  const lines: ReadonlyArray<Record<string, number>> = readFileSync(join(folder, "metrics.jsonl"), "utf8").trim()
    .split("\n").map((line) => JSON.parse(line))
  const [sampling = [], training = [], rewards = []] = fields.map((field) =>
    lines.slice(1).map((metrics) => metrics[field] ?? NaN)
  )
  const sum = (values: ReadonlyArray<number>) => values.reduce((all, value) => all + value, 0)
  return { sampling: sum(sampling), training: sum(training), rewards }
}

const measure = (name: string, root: string) => {
  const costs = Quiet.undisturbed(() => train(root))
  Report.progress(`${name}: ${JSON.stringify(costs)}`)
  return costs
}

const commit = git("rev-parse", "--short", reference)
try {
  const root = checkout(commit)
  const pairs = Array.from({ length: rounds }, () => ({ now: measure("now", here), before: measure(commit, root) }))
  const perIteration = (of: (pair: typeof pairs[number]) => number) =>
    (Report.median(pairs.map(of)) / (iterations - 1)).toFixed(2)
  const ratio = (of: (costs: Costs) => number) => Report.median(pairs.map(({ before, now }) => of(before) / of(now)))
  const row = (title: string, of: (costs: Costs) => number) => [
    title,
    perIteration(({ before }) => of(before)),
    perIteration(({ now }) => of(now)),
    `${ratio(of).toFixed(2)}×`
  ]
  const rewardsOf = ({ rewards }: Costs) => rewards.map((reward) => reward.toFixed(2)).join(" ")
  const [first] = pairs
  Report.publish("main-job", "The main job against an earlier commit", [
    `\`npm start\` at commit ${commit} and now: tiny-128, 32 problems × 8 attempts, ${iterations} iterations, the first not counted. Numbers are medians
of ${rounds} alternating rounds; each ratio compares times of one round. ${Quiet.disturbance()}`,
    Report.table(["seconds per iteration", commit, "now", "faster"], [
      row("sampling", ({ sampling }) => sampling),
      row("training", ({ training }) => training),
      row("both", ({ sampling, training }) => sampling + training)
    ]),
    first === undefined ? "" : `Rewards: ${rewardsOf(first.before)} before, ${rewardsOf(first.now)} now.`,
    Report.aim(
      "wall time of an iteration",
      1 / ratio(({ sampling, training }) => sampling + training),
      "× the earlier one",
      "at most",
      0.65
    )
  ])
} finally {
  git("worktree", "remove", "--force", join(scratch, "checkout"))
  rmSync(scratch, { recursive: true, force: true })
}
