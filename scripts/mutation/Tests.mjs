// Runs tests in one long-lived vitest, which transforms the sources only once, to find which execute a mutant and whether they fail.
import { execFileSync } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative, resolve } from "node:path"
import { createVitest } from "vitest/node"
import * as Mutants from "./Mutants.mjs"

/** Seconds beyond the usual time of its tests after which a test file counts as hanging. */
const patience = 60

/** Seconds above which a test is too slow to judge a mutant. */
const slow = 20

/** Total usual seconds of the tests that a mutant must survive. */
const enough = 60

/** Seconds that a test file takes in addition to its tests. */
const opening = 1

const vitest = await createVitest("test", {
  config: "scripts/mutation/vitest.config.ts",
  watch: false,
  reporters: [{}]
})
await vitest.standalone()
const project = vitest.getRootProject()

export const close = () => vitest.close()

/** Runs with changed file contents, and restores them afterwards. */
const withTexts = async (texts, run) => {
  const originals = texts.map(([file]) => [file, readFileSync(file, "utf8")])
  const write = ([file, text]) => {
    writeFileSync(file, text)
    vitest.invalidateFile(resolve(file))
  }
  texts.forEach(write)
  try {
    return await run()
  } finally {
    originals.forEach(write)
  }
}

const endWorkers = () => {
  try {
    execFileSync("pkill", ["-KILL", "-P", String(process.pid)])
  } catch {
    // None is left.
  }
}

/** Runs tests; returns "passed", "failed" or, after some seconds, "hung". */
const run = async (specifications, seconds) => {
  let hung = false
  const timer = setTimeout(() => {
    hung = true
    endWorkers()
  }, seconds * 1000)
  // Failures of earlier runs would count toward the one failure that ends a run.
  vitest.state.filesMap.clear()
  vitest.state.idMap.clear()
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  clearTimeout(timer)
  if (hung) return "hung"
  return unhandledErrors.length === 0 && testModules.every((module) => module.ok()) ? "passed" : "failed"
}

/** The mutants that each test in the files executes. */
const probe = async (numbered, tests) => {
  const reached = join(tmpdir(), `reached-${process.pid}.jsonl`)
  const files = [...new Set(numbered.map(([, { file }]) => file))]
  const texts = files.map((file) => [file, Mutants.probed(file, numbered.filter(([, mutant]) => mutant.file === file))])
  process.env.EFFECT_RL_REACHED = reached
  writeFileSync(reached, "")
  const failing = new Set()
  await withTexts(texts, async () => {
    for (const test of tests) {
      const outcome = await run([project.createSpecification(resolve(test))], 10 * patience)
      if (outcome === "passed") continue
      failing.add(test)
      console.log(`${test} ${outcome} without a mutant, so it is left out`)
    }
  })
  delete process.env.EFFECT_RL_REACHED
  const lines = readFileSync(reached, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
  rmSync(reached)
  return lines.map((line) => ({ ...line, test: relative(".", line.testPath) })).filter(({ test }) => !failing.has(test))
}

/** The tests of a file that execute a mutant, if they are fast enough. */
const specificationOf = (test, lines, number) => {
  const named = lines.filter(({ name, time }) => name !== undefined && time < slow * 1000)
  const reaching = lines.filter(({ reached }) => reached.includes(number))
  // Code that runs outside the tests, in the module itself or in a thread, may belong to any of them.
  const isOutside = reaching.some(({ name }) => name === undefined)
  const chosen = isOutside ? named : named.filter((line) => reaching.includes(line))
  const seconds = opening + chosen.reduce((sum, { time }) => sum + time, 0) / 1000
  return { test, isOutside, names: chosen.map(({ name }) => name), seconds }
}

const subjectOf = (file) => file.replace(/^.*?\/(src|test)\//, "").replace(/(\.test)?\.ts$/, "")

/** The distance of a test from a source: 0 for the same name, then the same folder, then others. */
const distance = (test, file) => {
  const [tested, subject] = [subjectOf(test), subjectOf(file)]
  if (tested === subject || basename(tested) === basename(subject)) return 0
  return dirname(tested) === dirname(subject) ? 1 : 2
}

/** For each mutant, by index, the tests that execute it: the nearest first, then those whose own code executes it, then the fastest. */
export const reaching = async (mutants, tests) => {
  const numbered = mutants.map((mutant, number) => [number, mutant])
  const byTest = Map.groupBy(await probe(numbered, tests), ({ test }) => test)
  return numbered.map(([number, { file }]) =>
    [...byTest].map(([test, lines]) => specificationOf(test, lines, number))
      .filter(({ names }) => names.length > 0)
      .toSorted((left, right) =>
        distance(left.test, file) - distance(right.test, file)
        || Number(left.isOutside) - Number(right.isOutside)
        || left.seconds - right.seconds
      )
  )
}

/** All tests of the files, which must pass without a mutant. */
export const all = async (tests) => {
  for (const test of tests) {
    const outcome = await run([project.createSpecification(resolve(test))], 10 * patience)
    if (outcome !== "passed") throw new Error(`${test} ${outcome} without a mutant`)
  }
  return tests.map((test) => ({ test, seconds: opening }))
}

/** Whether the tests notice the mutant. */
export const judge = (mutant, suites) => {
  if (suites.length === 0) return { outcome: "not reached" }
  return withTexts([[mutant.file, Mutants.applied(mutant)]], async () => {
    let spent = 0
    for (const { names, seconds, test } of suites) {
      if (spent > enough) break
      spent += seconds
      const options = names === undefined ? {} : { testNames: names }
      const outcome = await run([project.createSpecification(resolve(test), options)], patience + 5 * seconds)
      if (outcome !== "passed") return { outcome: outcome === "hung" ? "hung" : "killed", by: test }
    }
    return { outcome: "survived" }
  })
}
