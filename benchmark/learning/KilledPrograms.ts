/** Checks whether a code_rl run that is killed and resumed ends with the same numbers as an uninterrupted run. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Report from "../Report.ts"

const short = { seed: 5, iterations: 4, groupsPerBatch: 8, groupSize: 4, saveEvery: 1, evalEvery: 0 }

const flags = (folder: string) => [
  "train",
  "code_rl",
  "--log-path",
  folder,
  ...Object.entries(short).flatMap(([setting, value]) => ["--set", `${setting}=${value}`])
]

const command = (folder: string, killedAfter?: number) =>
  spawnSync(
    process.execPath,
    [
      "--conditions=@effect-rl/source",
      "--disable-warning=ExperimentalWarning",
      "packages/cli/src/bin.ts",
      ...flags(folder)
    ],
    { killSignal: "SIGKILL", stdio: "ignore", ...(killedAfter === undefined ? {} : { timeout: killedAfter }) }
  ).signal

interface Line {
  readonly _tag: string
  readonly iteration: number
  readonly at: number
  readonly reward?: { readonly mean: number }
  readonly kind?: string
  readonly stateDigest?: string
}

const linesOf = (folder: string): ReadonlyArray<Line> =>
  readFileSync(join(folder, "records.jsonl"), "utf8").split("\n").filter((line) => line !== "").map((line) =>
    JSON.parse(line)
  )

/** The outcome of a run: the reward of each iteration, and the digest of the last checkpoint. */
const endOf = (folder: string) => {
  const lines = linesOf(folder)
  return {
    rewards: lines.flatMap(({ _tag, reward }) => _tag === "Updated" && reward !== undefined ? [reward.mean] : []),
    digest: lines.findLast(({ _tag }) => _tag === "Saved")?.stateDigest
  }
}

/** Compares a killed and resumed run with an uninterrupted one. */
const killed = (): string => {
  const root = mkdtempSync(join(tmpdir(), "effect-rl-killed-"))
  const [whole, cut] = [join(root, "whole"), join(root, "cut")]
  command(whole)
  const times = linesOf(whole).map(({ at }) => at)
  const midst = Math.max(...times) - Math.min(...times)
  const signal = command(cut, Math.round(0.75 * midst))
  const before = endOf(cut).rewards.length
  command(cut)
  const ends = { whole: endOf(whole), cut: endOf(cut) }
  rmSync(root, { recursive: true })
  const same = JSON.stringify(ends.whole) === JSON.stringify(ends.cut)
  const rewards = ends.whole.rewards.map((reward) => reward.toFixed(3)).join(", ")
  return `\`effect-rl train code_rl\` on effect-rl/tiny-code, ${short.iterations} iterations of ${short.groupsPerBatch} problems × ` +
    `${short.groupSize} attempts, each program judged in this machine's sandbox. The run was killed by ${signal} after ${before} of ${short.iterations} iterations and resumed. Its rewards ${rewards} and the SHA-256 of the last ` +
    `checkpoint (${ends.whole.digest}) are **${
      same ? "the same" : "not the same"
    }** as those of a run that was not killed.`
}

Report.publish("programs-killed", "Does a killed run of code_rl end with the same numbers?", [killed()])
