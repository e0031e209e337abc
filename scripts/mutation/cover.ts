/** Notes which mutants each test file executes. */
import { appendFileSync } from "node:fs"
import { afterAll, expect } from "vitest"

declare global {
  var reached: Set<number> | undefined
}

globalThis.reached ??= new Set()

afterAll(() => {
  const file = process.env["EFFECT_RL_REACHED"]
  if (file === undefined) return
  appendFileSync(
    file,
    `${JSON.stringify({ test: expect.getState().testPath, reached: [...globalThis.reached ?? []] })}\n`
  )
})
