// Changes the sources in one small way at a time and runs the tests: a mutant that no test notices is a behaviour that none promises.
//   node scripts/mutate.mjs [--count 200] [--seed 1] [--room TEXT …] [--files GLOB …] [--only TEXT] [--tests GLOB …] [--out FILE]
// Without files, mutants are drawn from the rooms below by their weight. Each is judged by the tests beside its room that execute it, as
// `--tests` by exactly those. Sources are changed in place, so it refuses to begin where git sees changes.
// Stryker 10.1 runs with this vitest, but makes a mutant active by a global of the test's own thread: the threads that compute and that
// check losses would run the original; and it takes every mutant of a file, not a draw of some from many.
import { execFileSync } from "node:child_process"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as Mutants from "./mutation/Mutants.mjs"
import * as Tests from "./mutation/Tests.mjs"

/** Rooms where a silent fault costs most, their share of the mutants, and the tests that have to notice one. */
const rooms = [
  { sources: "packages/core/src/rl", weight: 60, tests: ["packages/core/test/{rl,learn,run}"] },
  { sources: "packages/core/src/learn", weight: 30, tests: ["packages/core/test/{rl,learn,run}"] },
  { sources: "packages/core/src/run", weight: 40, tests: ["packages/core/test/{rl,learn,run}"] },
  { sources: "packages/tinker/src/server", weight: 40, tests: ["packages/tinker/test/server"] },
  {
    sources: "packages/engine/src/runtime",
    weight: 30,
    tests: ["packages/engine/test/runtime", "packages/engine/test/*.test.ts"]
  }
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
  console.error("packages has sources that are not committed: commit them, or run this in another worktree")
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

const roomOf = ({ file }) => rooms.find(({ sources }) => file.startsWith(`${sources}/`))

const nameOf = ({ from, place, to }) => `${place} ${from.replace(/\s+/g, " ").slice(0, 60)} → ${to.slice(0, 60)}`

const isAsked = (mutant) =>
  (values.only === undefined || mutant.name.includes(values.only))
  && (values.room === undefined || values.room.some((room) => mutant.file.startsWith(room)))

const count = Number(values.count)
const total = rooms.reduce((sum, { weight }) => sum + weight, 0)
const chosen = values.files === undefined
  ? rooms.flatMap(({ sources, weight }) => drawn(mutantsIn(`${sources}/**/*.ts`), Math.round(count * weight / total)))
  : drawn(values.files.flatMap(mutantsIn), count)
const mutants = chosen.map((mutant) => ({ ...mutant, name: nameOf(mutant) })).filter(isAsked)

/** Tests that boot processes for long, or load a service, cost more than they would notice. */
const isQuick = (test) => !/\/(soak|hostile|kill|damage)\/|OfficialClients|Soak/.test(test)

const testsOf = (mutant) => {
  const room = roomOf(mutant)?.tests ?? [`${mutant.file.split("/src/")[0]}/test`]
  return globSync(room.map((tests) => tests.endsWith(".ts") ? tests : `${tests}/**/*.test.ts`)).filter(isQuick)
    .toSorted()
}

const suitesOf = async () => {
  if (values.tests !== undefined) return mutants.map(() => Tests.all(globSync(values.tests)))
  const byTests = Map.groupBy(mutants.entries(), ([, mutant]) => testsOf(mutant).join(" "))
  const suites = []
  for (const [tests, group] of byTests) {
    const found = await Tests.reaching(group.map(([, mutant]) => mutant), tests.split(" "))
    group.forEach(([index], at) => suites[index] = found[at])
  }
  return suites
}

const suites = await suitesOf()
const results = []
for (const [index, mutant] of mutants.entries()) {
  const { name } = mutant
  const judged = Object.hasOwn(equivalents, name) ? { outcome: "equivalent" } : await Tests.judge(mutant, suites[index])
  results.push({ name, ...judged })
  console.log(
    `${new Date().toISOString().slice(11, 19)} ${index + 1}/${mutants.length} ${judged.outcome.padEnd(11)} ${name}${
      judged.by === undefined ? "" : ` (${judged.by})`
    }`
  )
}
await Tests.close()

const countOf = (found, ...outcomes) => found.filter(({ outcome }) => outcomes.includes(outcome)).length

const summary = (name, found) => {
  const killed = countOf(found, "killed", "hung")
  const decided = found.length - countOf(found, "equivalent")
  return `${name}: ${killed} of ${decided} killed (${(100 * killed / decided).toFixed(1)} %), ${
    countOf(found, "survived")
  } survived, `
    + `${countOf(found, "not reached")} not reached by any test, ${countOf(found, "equivalent")} equivalent`
}

for (
  const [room, group] of Map.groupBy(
    results,
    ({ name }) => rooms.find(({ sources }) => name.startsWith(`${sources}/`))?.sources ?? ""
  )
) {
  if (room !== "") console.log(summary(room, group))
}
console.log(summary("all", results))
if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(results, null, 2))
