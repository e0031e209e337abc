/** `SIGKILL` at random points: resumed, a run ends exactly as if it had never been interrupted. */
import { Seed } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

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

const lines = (file: string): ReadonlyArray<Record<string, unknown>> =>
  readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line))

const isTime = (name: string) => name.startsWith("time/") || name === "segment"

/** The last record of each step and group, without times: what a reader of the run sees. */
const seen = (file: string) => {
  const records = new Map<string, string>()
  for (const record of lines(file)) {
    const entries = Object.entries(record).filter(([name]) => !isTime(name))
    records.set(`${record["step"]} ${record["key"]}`, JSON.stringify(entries))
  }
  return [...records].toSorted()
}

const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")

/** Everything about a finished run that must not depend on how often it was interrupted. */
const outcome = (folder: string) => {
  const last = lines(join(folder, "checkpoints.jsonl")).at(-1)
  const state = join(folder, "checkpoints", String(last?.["state_path"]).replace("engine://", ""))
  return {
    name: last?.["name"],
    tokens: last?.["tokens"],
    metrics: seen(join(folder, "metrics.jsonl")),
    groups: seen(join(folder, "events.jsonl")),
    adapter: hash(join(state, "adapter_model.safetensors")),
    optimizer: hash(join(state, "optimizer.safetensors"))
  }
}

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

describe.each([1, 5])("saving every %i steps", (saveEvery) => {
  it(`a run killed at ${soak ? 25 : 3} points ends as one that was not`, { timeout: 900_000 }, () => {
    const whole = withFolder((folder) => {
      assert.strictEqual(launch(folder, saveEvery, never).status, 0)
      return outcome(folder)
    })
    for (const point of points(soak ? 25 : 3)) {
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
