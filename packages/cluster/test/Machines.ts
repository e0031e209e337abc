/** Three processes on this machine, of which some are killed. */
import { Seed } from "@effect-rl/core"
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const runner = new URL("./workers/Runner.ts", import.meta.url).pathname

const start = (database: string) =>
  spawn(process.execPath, ["--conditions=@effect-rl/source", runner, database], { stdio: "ignore" })

/** Killed for good when the scope closes. */
export const make = (seed: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "effect-rl-cluster-"))
      const database = join(folder, "cluster.sqlite")
      const running: Array<ChildProcess> = Array.from({ length: 3 }, () => start(database))
      const uniform = Seed.uniform(seed)
      /** Kills one of the three without warning, and starts another in its place. */
      const kill = Effect.sync(() => {
        const at = Math.floor(3 * uniform())
        const [killed] = running.splice(at, 1, start(database))
        killed?.kill("SIGKILL")
        return killed?.pid ?? 0
      })
      return { database, folder, kill, running, pids: () => running.map(({ pid }) => pid ?? 0) }
    }),
    ({ folder, running }) =>
      Effect.sync(() => {
        for (const process of running) process.kill("SIGKILL")
        rmSync(folder, { recursive: true, force: true })
      })
  )
