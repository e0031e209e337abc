/** Three processes on this machine, of which some are killed. */
import { Seed } from "@effect-rl/core"
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Walks from "./Walks.ts"

const runner = new URL("./workers/Runner.ts", import.meta.url).pathname

const start = (database: string, folder: string) =>
  spawn(process.execPath, ["--conditions=@effect-rl/source", runner, database, folder], { stdio: "ignore" })

/** Killed for good when the scope closes. */
export const make = (seed: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "effect-rl-cluster-"))
      const database = join(folder, "cluster.sqlite")
      const running: Array<ChildProcess> = Array.from({ length: 3 }, () => start(database, folder))
      const uniform = Seed.uniform(seed)
      const allReady = Walks.until(() => running.every(({ pid }) => existsSync(join(folder, `ready-${pid}`))))
      /** Once all three are there, kills one of them without warning, and starts another in its place. */
      const kill = Effect.gen(function*() {
        yield* allReady
        yield* Effect.sleep(1000 * uniform())
        const at = Math.floor(3 * uniform())
        const [killed] = running.splice(at, 1, start(database, folder))
        killed?.kill("SIGKILL")
      })
      return { database, folder, kill, running }
    }),
    ({ folder, running }) =>
      Effect.sync(() => {
        for (const process of running) process.kill("SIGKILL")
        rmSync(folder, { recursive: true, force: true })
      })
  )
