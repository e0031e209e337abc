// Changes the sources in one small way at a time and runs the tests: a mutant that no test notices is a behaviour that none promises.
//   node scripts/mutate.mjs [--count 200] [--seed 1] [--room TEXT …] [--files GLOB …] [--only TEXT] [--tests GLOB …] [--out FILE]
// Without files, mutants are drawn from the rooms below by their weight. Each is judged by the tests beside its room that execute it, as
// `--tests` by exactly those. Sources are changed in place, so it refuses to begin where git sees changes.
// Stryker 10.1 runs with this vitest, but makes a mutant active by a global of the test's own thread: the threads that compute and that
// check losses would run the original; and it takes every mutant of a file, not a draw of some from many.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as Mutants from "./mutation/Mutants.mjs"
import * as Tests from "./mutation/Tests.mjs"

/** Rooms in which silent faults are most costly, their share of the mutants, and the tests that must notice them. */
const rooms = [
  { sources: "packages/core/src/run", weight: 40, tests: ["packages/core/test/{rl,learn,run,settings}/**/*.test.ts"] },
  {
    sources: "packages/core/src/learn",
    weight: 30,
    tests: ["packages/core/test/{rl,learn,run,settings}/**/*.test.ts"]
  },
  { sources: "packages/core/src/rl", weight: 60, tests: ["packages/core/test/{rl,learn,run,settings}/**/*.test.ts"] },
  { sources: "packages/tinker/src/server", weight: 40, tests: ["packages/tinker/test/server/**/*.test.ts"] },
  { sources: "packages/engine/src/runtime", weight: 30, tests: ["packages/engine/test/{*,runtime/*}.test.ts"] }
]

/** Mutants that no test can notice, each with the reason. */
const equivalents = JSON.parse(readFileSync("scripts/mutation/equivalents.json", "utf8"))

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    room: { type: "string", multiple: true },
    files: { type: "string", multiple: true },
    only: { type: "string" },
    tests: { type: "string", multiple: true },
    out: { type: "string" }
  }
})

if (execFileSync("git", ["status", "--porcelain", "packages/*/src"], { encoding: "utf8" }).trim() !== "") {
  console.error("packages has uncommitted changes: commit them, or run this in another worktree")
  process.exit(1)
}

/** The mutants that come first in an order that only the seed decides, so that a change of one source leaves the others' in the draw. */
const drawn = (mutants, count) => {
  const rank = ({ key }) => createHash("sha256").update(`${values.seed} ${key}`).digest("hex")
  return mutants.map((mutant) => ({ ...mutant, rank: rank(mutant) }))
    .toSorted((left, right) => left.rank < right.rank ? -1 : 1)
    .slice(0, count)
}

const mutantsIn = (glob) =>
  globSync(glob).filter((file) => !file.endsWith(".gen.ts")).toSorted().flatMap(Mutants.of).filter(Mutants.isValid)

const roomOf = ({ file }) => rooms.find(({ sources }) => file.startsWith(`${sources}/`))

const isAsked = (mutant) =>
  (values.only === undefined || mutant.key.includes(values.only))
  && (values.room === undefined || values.room.some((room) => mutant.file.startsWith(room)))

const count = Number(values.count)
const total = rooms.reduce((sum, { weight }) => sum + weight, 0)
const chosen = values.files === undefined
  ? rooms.flatMap(({ sources, weight }) => drawn(mutantsIn(`${sources}/**/*.ts`), Math.round(count * weight / total)))
  : drawn(values.files.flatMap(mutantsIn), count)
const mutants = chosen.filter(isAsked)

/** Slow tests are left out: they start processes or train for long, and would notice little more. */
const isQuick = (test) => !test.endsWith(".slow.test.ts")

const testsOf = (mutant) => {
  const folders = roomOf(mutant)?.tests ?? [`${mutant.file.split("/src/")[0]}/test/**/*.test.ts`]
  return globSync(values.tests ?? folders).filter(isQuick).toSorted().join(" ")
}

const judged = async (mutants, tests) => {
  const given = values.tests === undefined ? undefined : await Tests.all(tests)
  const suites = given === undefined ? await Tests.reaching(mutants, tests) : mutants.map(() => given)
  const results = []
  for (const [index, mutant] of mutants.entries()) {
    const { by, outcome } = await Tests.judge(mutant, suites[index])
    results.push({ ...mutant, outcome, by })
    console.log(
      `${index + 1}/${mutants.length} ${outcome} ${mutant.file}:${mutant.line}${mutant.key.slice(mutant.file.length)}`
    )
  }
  return results
}

const isEquivalent = ({ key }) => Object.hasOwn(equivalents, key)
const results = mutants.filter(isEquivalent).map((mutant) => ({ ...mutant, outcome: "equivalent" }))
for (const [tests, group] of Map.groupBy(mutants.filter((mutant) => !isEquivalent(mutant)), testsOf)) {
  results.push(...await judged(group, tests.split(" ")))
}
await Tests.close()

const summary = (name, results) => {
  const countOf = (...outcomes) => results.filter(({ outcome }) => outcomes.includes(outcome)).length
  const killed = countOf("killed", "hung")
  const decided = results.length - countOf("equivalent")
  return `${name}: ${killed} of ${decided} killed (${(100 * killed / decided).toFixed(1)} %), ${
    countOf("survived")
  } survived, `
    + `${countOf("not reached")} not reached by any test, ${countOf("equivalent")} equivalent`
}

for (const [room, group] of Map.groupBy(results, (mutant) => roomOf(mutant)?.sources ?? "other sources")) {
  console.log(summary(room, group))
}
console.log(summary("all", results))
if (values.out !== undefined) {
  writeFileSync(
    values.out,
    JSON.stringify(results.map(({ by, key, line, outcome }) => ({ key, line, outcome, by })), null, 2)
  )
}
