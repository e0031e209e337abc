// Changes the sources in one small way at a time and runs the tests: a mutant that no test notices is a behaviour that none promises.
//   node scripts/mutate.mjs [--count 200] [--seed 1] [--files GLOB …] [--only TEXT] [--out FILE]
// Without files, mutants are drawn from the rooms below by their weight. Each is judged by the tests of its package that execute it.
// Sources are changed in place, so it refuses to begin where git sees changes.
import { execFileSync, spawn } from "node:child_process"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as Mutants from "./mutation/Mutants.mjs"
import * as Suites from "./mutation/Suites.mjs"

/** Rooms where a silent fault costs most, and their share of the mutants. */
const rooms = [
  ["packages/core/src/rl", 60],
  ["packages/core/src/learn", 30],
  ["packages/core/src/run", 40],
  ["packages/tinker/src/server", 40],
  ["packages/engine/src/runtime", 30]
]

/** Mutants that no test can notice, each with the reason. */
const equivalents = JSON.parse(readFileSync("scripts/mutation/equivalents.json", "utf8"))

/** Seconds after which a run of tests counts as hanging. */
const longest = 240

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    files: { type: "string", multiple: true },
    only: { type: "string" },
    out: { type: "string" }
  }
})

if (execFileSync("git", ["status", "--porcelain", "packages"], { encoding: "utf8" }).trim() !== "") {
  console.error("packages has changes that are not committed: commit them, or run this in another worktree")
  process.exit(1)
}

/** Uniform numbers in [0, 1), the same for one seed (mulberry32). */
const uniform = (seed) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const next = uniform(Number(values.seed))

const drawn = (mutants, count) => {
  const left = [...mutants]
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(Math.floor(next() * left.length), 1)[0])
}

const mutantsIn = (glob) =>
  globSync(glob).filter((file) => !file.endsWith(".gen.ts")).toSorted().flatMap(Mutants.of).filter(Mutants.isValid)

const count = Number(values.count)
const total = rooms.reduce((sum, [, weight]) => sum + weight, 0)
const chosen = values.files === undefined
  ? rooms.flatMap(([room, weight]) => drawn(mutantsIn(`${room}/**/*.ts`), Math.round(count * weight / total)))
  : drawn(values.files.flatMap(mutantsIn), count)

/** Ends with "passed", "failed" or "hung". */
const test = (files) =>
  new Promise((resolve) => {
    const args = ["node_modules/vitest/vitest.mjs", "run", "--bail=1", "--reporter=dot", "--maxWorkers=1", ...files]
    const child = spawn(process.execPath, args, { stdio: "ignore", detached: true })
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), longest * 1000)
    child.on("exit", (code, signal) => {
      clearTimeout(timer)
      resolve(signal === "SIGKILL" ? "hung" : code === 0 ? "passed" : "failed")
    })
  })

/** Tests are run a few files at a time, the quickest first. */
const atATime = 8

const judge = async (mutant, files) => {
  if (files.length === 0) return "not reached"
  const original = readFileSync(mutant.file, "utf8")
  writeFileSync(mutant.file, Mutants.applied(mutant))
  try {
    for (let from = 0; from < files.length; from += atATime) {
      const outcome = await test(files.slice(from, from + atATime))
      if (outcome !== "passed") return outcome === "hung" ? "hung" : "killed"
    }
  } finally {
    writeFileSync(mutant.file, original)
  }
  return "survived"
}

const nameOf = ({ file, from, line, to }) =>
  `${file}:${line} ${from.replace(/\s+/g, " ").slice(0, 60)} → ${to.slice(0, 60)}`

const named = chosen.map((mutant) => ({ mutant, name: nameOf(mutant) }))
  .filter(({ name }) => values.only === undefined || name.includes(values.only))
const suites = Suites.of(named.map(({ mutant }) => mutant))

const results = []
for (const [index, { mutant, name }] of named.entries()) {
  const outcome = Object.hasOwn(equivalents, name) ? "equivalent" : await judge(mutant, suites[index])
  results.push({ name, outcome })
  console.log(`${index + 1}/${named.length} ${outcome.padEnd(11)} ${name}`)
}

const countOf = (...outcomes) => results.filter(({ outcome }) => outcomes.includes(outcome)).length
const killed = countOf("killed", "hung")
const decided = results.length - countOf("equivalent")
console.log(
  `${killed} of ${decided} killed (${(100 * killed / decided).toFixed(1)} %), ${countOf("survived")} survived, ` +
    `${countOf("not reached")} not reached by any test, ${countOf("equivalent")} equivalent`
)
if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(results, null, 2))
