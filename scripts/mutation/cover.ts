/** Records which mutants each test executes, one line of JSON per test. A line without a name is for code outside the file's tests. */
import { appendFileSync } from "node:fs"
import { afterAll, afterEach, beforeEach, expect } from "vitest"

declare global {
  var reached: { readonly add: (mutant: number) => unknown } | undefined
}

const file = process.env["EFFECT_RL_REACHED"]

if (file !== undefined) {
  const { testPath } = expect.getState()
  const outside = new Set<number>()
  globalThis.reached = outside
  process.env["EFFECT_RL_TEST"] = testPath

  const note = (reached: ReadonlySet<number>, name?: string, time = 0): void =>
    appendFileSync(file, `${JSON.stringify({ testPath, name, time, reached: [...reached] })}\n`)

  beforeEach(({ onTestFinished, task }) => {
    const reached = new Set<number>()
    const from = performance.now()
    globalThis.reached = reached
    onTestFinished(() => note(reached, task.fullTestName, performance.now() - from))
  })

  afterEach(() => {
    globalThis.reached = outside
  })

  afterAll(() => note(outside))
}
