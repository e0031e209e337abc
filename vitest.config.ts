import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import { BaseSequencer, type Reporter, type TestSpecification } from "vitest/node"

const conditions = ["@effect-rl/source"]

const folders = ["packages/*/test/**", "examples/test/**"]
const include = folders.map((folder) => `${folder}/*.test.ts`)
const exclude = ["**/node_modules/**"]

/** Tests that start processes or browsers, open many sockets or train for long; a path that names one runs it. */
const slow = folders.map((folder) => `${folder}/*.slow.test.ts`)
const isAll = process.env["EFFECT_RL_TESTS"] === "all" || process.env["EFFECT_RL_SOAK"] === "1"
const isSlowAsked = isAll || process.argv.some((argument) => argument.includes(".slow.test"))

/**
 * Runs the quick tests first, in shared processes, then the slow ones, each file in a separate process. If such a process is killed, only
 * its file fails, and leftovers such as ending threads do not affect the next file. A slow test that fails runs once more, because it shares
 * the machine with other processes. The last lines name the tests that passed only then.
 */
const projects: Array<TestProjectInlineConfiguration> = [
  { extends: true, test: { name: "quick", include, exclude: [...exclude, ...slow], sequence: { groupOrder: 1 } } },
  {
    extends: true,
    test: { name: "slow", include: slow, exclude, isolate: true, retry: 1, sequence: { groupOrder: 2 } }
  }
]

/** The slowest files. */
const longest = [
  "examples.slow",
  "kill/Kill.slow",
  "certify/Certification.slow",
  "train/Pipeline.slow",
  "view/View.slow",
  "code/Exploits.slow",
  "executor/Executors.slow",
  "damage/Damage.slow"
]

/** Starts the slowest files first, so that none of them runs alone at the end. Vitest knows the durations only after a first run. */
class LongestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>) {
    const rank = ({ moduleId }: TestSpecification) => [...longest, ""].findIndex((name) => moduleId.includes(name))
    return super.sort(files).then((sorted) => sorted.toSorted((left, right) => rank(left) - rank(right)))
  }
}

const flaky: Array<string> = []

/** Names the tests that failed and passed when they ran once more. */
const flakyTests: Reporter = {
  onTestCaseResult: (test) => {
    if (test.diagnostic()?.flaky === true) flaky.push(`${test.module.relativeModuleId} > ${test.fullName}`)
  },
  onTestRunEnd: () => {
    for (const name of flaky) process.stdout.write(`failed, then passed: ${name}\n`)
  }
}

/** Processes that tests start reuse the compiled modules of earlier ones, which halves a command's startup time. */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled")

/** Vitest reserves a core for itself, which on a machine with two cores leaves one for the tests. */
const maxWorkers = Math.max(2, availableParallelism() - 1)

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    ...(isAll ? { projects } : { include, exclude: isSlowAsked ? exclude : [...exclude, ...slow] }),
    maxWorkers,
    reporters: ["default", flakyTests],
    pool: "forks",
    isolate: false,
    setupFiles: ["./vitest.setup.ts"],
    // Only a protection against hangs; no test depends on a machine's speed.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    sequence: { concurrent: true, sequencer: LongestFirst }
  }
})
