import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const conditions = ["@effect-rl/source"]

const folders = ["packages/*/test/**", "examples/test/**"]
const include = folders.map((folder) => `${folder}/*.test.ts`)
const exclude = ["**/node_modules/**"]

/** Tests that start processes or browsers, open many sockets or train for long; a path that names one runs it. */
const slow = folders.map((folder) => `${folder}/*.slow.test.ts`)
const isAll = process.env["EFFECT_RL_TESTS"] === "all" || process.env["EFFECT_RL_SOAK"] === "1"
const isSlowAsked = isAll || process.argv.some((argument) => argument.includes(".slow.test"))

/**
 * First the quick tests, which share a process; then the slow ones, each file in a process of its own: where one ends by a signal, its
 * file alone fails, and what a file leaves behind, such as threads that are still ending, does not meet the next.
 */
const projects: Array<TestProjectInlineConfiguration> = [
  { extends: true, test: { name: "quick", include, exclude: [...exclude, ...slow], sequence: { groupOrder: 1 } } },
  { extends: true, test: { name: "slow", include: slow, exclude, isolate: true, sequence: { groupOrder: 2 } } }
]

/** The slow files that take longest. */
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

/** Begins with the longest, of which none is then left over when all others have ended. Vitest alone knows them after a first run. */
class LongestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>) {
    const rank = ({ moduleId }: TestSpecification) => [...longest, ""].findIndex((name) => moduleId.includes(name))
    return super.sort(files).then((sorted) => sorted.toSorted((left, right) => rank(left) - rank(right)))
  }
}

/** Processes that tests start find effect and our modules compiled by those before: half of what the start of the command costs. */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled")

/** Vitest leaves a core to itself, which on a machine of two leaves one to the tests. */
const maxWorkers = Math.max(2, availableParallelism() - 1)

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    ...(isAll ? { projects } : { include, exclude: isSlowAsked ? exclude : [...exclude, ...slow] }),
    maxWorkers,
    pool: "forks",
    isolate: false,
    setupFiles: ["./vitest.setup.ts"],
    // Against hangs alone: no test is about how fast a machine is.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    sequence: { concurrent: true, sequencer: LongestFirst }
  }
})
