/** `SIGKILL` at random points: resumed, a run ends exactly as if it had never been interrupted. */
import { Seed } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { outcome } from "./Outcome.ts"

const child = new URL("./Child.ts", import.meta.url).pathname

interface Point {
  readonly operation: string
  readonly call: number
}

const never: Point = { operation: "none", call: 0 }

const launch = (folder: string, saveEvery: number, { call, operation }: Point) =>
  spawnSync(process.execPath, [
    "--conditions=@effect-rl/source",
    child,
    folder,
    String(saveEvery),
    operation,
    String(call)
  ], { encoding: "utf8" })

const withFolder = <A>(use: (folder: string) => A): A => {
  const folder = mkdtempSync(join(tmpdir(), "effect-rl-kill-"))
  const result = use(folder)
  rmSync(folder, { recursive: true })
  return result
}

/** Calls of each operation in an uninterrupted run of 6 iterations: 16 samples and 2 substeps each. */
const counts = { sample: 96, forwardBackward: 12, optimStep: 12, stepped: 12, saveState: 2, saved: 2, saveWeights: 2 }

const points = (count: number): ReadonlyArray<Point> => {
  const next = Seed.uniform(19)
  const operations = Object.entries(counts)
  return Array.from({ length: count }, () => {
    const [operation, calls] = operations[Math.floor(next() * operations.length)] ?? ["sample", 96]
    return { operation, call: Math.floor(next() * calls) }
  })
}

const soak = process.env["EFFECT_RL_SOAK"] !== undefined

describe.each([1, 5])("saving every %i iterations", (saveEvery) => {
  it(`a run killed at ${soak ? 50 : 5} points ends as one that was not`, { timeout: 900_000 }, () => {
    const whole = withFolder((folder) => {
      assert.strictEqual(launch(folder, saveEvery, never).status, 0)
      return outcome(folder)
    })
    for (const point of points(soak ? 50 : 5)) {
      withFolder((folder) => {
        const killed = launch(folder, saveEvery, point)
        assert.strictEqual(killed.signal, "SIGKILL", JSON.stringify(point))
        const resumed = launch(folder, saveEvery, never)
        assert.strictEqual(resumed.status, 0, resumed.stdout + resumed.stderr)
        assert.deepStrictEqual(outcome(folder), whole, JSON.stringify(point))
      })
    }
  })
})
