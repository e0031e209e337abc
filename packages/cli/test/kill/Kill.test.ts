/** `SIGKILL` at random points: resumed, a run ends exactly as if it had never been interrupted. */
import { Seed } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { outcome, sampled } from "./Outcome.ts"

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

const iterations = 6
const sequencesPerIteration = 16
const sequences = iterations * sequencesPerIteration

/** Calls of each operation in an uninterrupted run, with 2 substeps in each iteration. */
const counts = {
  forwardBackward: 12,
  optimStep: 12,
  stepped: 12,
  saveState: 2,
  saved: 2,
  saveWeights: 2
}

/** Every third point lies inside sampling. */
const points = (count: number, seed: number): ReadonlyArray<Point> => {
  const next = Seed.uniform(seed)
  const others = Object.entries(counts)
  return Array.from({ length: count }, (_, index) => {
    const other = others[Math.floor(next() * others.length)]
    const [operation, calls] = index % 3 === 0 || other === undefined ? ["sample", sequences] as const : other
    return { operation, call: Math.floor(next() * calls) }
  })
}

const soak = process.env["EFFECT_RL_SOAK"] !== undefined
const pointsEach = soak ? 50 : 5

describe.each([1, 5])("saving every %i iterations", (saveEvery) => {
  const title = `a run killed at ${pointsEach} points ends as one that was not, and samples no recorded group again`
  it(title, { timeout: soak ? 3_600_000 : 900_000 }, () => {
    const whole = withFolder((folder) => {
      assert.strictEqual(launch(folder, saveEvery, never).status, 0)
      assert.strictEqual(sampled(folder, sequencesPerIteration).asked, sequences)
      return outcome(folder)
    })
    for (const point of points(pointsEach, saveEvery)) {
      withFolder((folder) => {
        const killed = launch(folder, saveEvery, point)
        assert.strictEqual(killed.signal, "SIGKILL", JSON.stringify(point))
        const { asked, settled } = sampled(folder, sequencesPerIteration)
        const resumed = launch(folder, saveEvery, never)
        assert.strictEqual(resumed.status, 0, resumed.stdout + resumed.stderr)
        assert.deepStrictEqual(outcome(folder), whole, JSON.stringify(point))
        const again = sampled(folder, sequencesPerIteration).asked - asked
        assert.strictEqual(again, sequences - settled, JSON.stringify(point))
      })
    }
  })
})
