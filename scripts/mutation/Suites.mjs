// The test files that execute a mutant, found by running all of them once with probes in the sources.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import * as Mutants from "./Mutants.mjs"

const folders = (file) => {
  const [, owner] = file.split("/")
  return owner === "core" ? ["packages/core/test"] : [`packages/${owner}/test`]
}

/** For each mutant, by its index, the test files that execute it, the quickest first. */
export const of = (mutants) => {
  const reached = join(tmpdir(), `reached-${process.pid}.jsonl`)
  const report = join(tmpdir(), `report-${process.pid}.json`)
  const numbered = mutants.map((mutant, number) => [number, mutant])
  const files = [...new Set(mutants.map(({ file }) => file))]
  const originals = files.map((file) => [file, readFileSync(file, "utf8")])
  try {
    for (const file of files) {
      writeFileSync(file, Mutants.probed(file, numbered.filter(([, mutant]) => mutant.file === file)))
    }
    const args = ["node_modules/vitest/vitest.mjs", "run", "--config", "scripts/mutation/vitest.config.ts"]
    const output = ["--reporter=json", `--outputFile=${report}`]
    const tests = [...new Set(files.flatMap(folders))]
    spawnSync(process.execPath, [...args, ...output, ...tests], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, EFFECT_RL_REACHED: reached }
    })
  } finally {
    for (const [file, text] of originals) writeFileSync(file, text)
  }
  if (!existsSync(report)) throw new Error("the tests did not run with probes in the sources")
  const { testResults } = JSON.parse(readFileSync(report, "utf8"))
  const time = new Map(
    testResults.filter(({ status }) => status === "passed").map((
      { endTime, name, startTime }
    ) => [name, endTime - startTime])
  )
  const lines = readFileSync(reached, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line))
  rmSync(reached)
  rmSync(report)
  const failed = testResults.filter(({ status }) => status !== "passed").map(({ name }) => relative(".", name))
  if (failed.length > 0) console.log(`these fail without a mutant and are left out: ${failed.join(", ")}`)
  return numbered.map(([number]) =>
    lines.filter(({ reached, test }) => reached.includes(number) && time.has(test))
      .toSorted((left, right) => time.get(left.test) - time.get(right.test))
      .map(({ test }) => relative(".", test))
  )
}
