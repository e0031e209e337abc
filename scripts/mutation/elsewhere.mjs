// Records the mutants that a test's threads and processes execute, which the test's own globals do not see.
import { appendFileSync } from "node:fs"

const { EFFECT_RL_REACHED: file, EFFECT_RL_TEST: testPath } = process.env

const noted = new Set()

const add = (mutant) => {
  if (noted.has(mutant)) return
  noted.add(mutant)
  appendFileSync(file, `${JSON.stringify({ testPath, reached: [mutant] })}\n`)
}

if (file !== undefined) globalThis.reached ??= { add }
