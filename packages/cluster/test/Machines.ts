/** Child processes on this machine that tests can kill. */
import { Seed } from "@effect-rl/core/environments"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Walks from "./Walks.ts"

/** A temporary folder, removed when the scope closes. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => ({ folder: mkdtempSync(join(tmpdir(), "effect-rl-cluster-")) })),
  ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const fileOf = (runner: string) => new URL(`./workers/${runner}.ts`, import.meta.url).pathname

const spawned = (program: string, args: ReadonlyArray<string>, output: number | "ignore" = "ignore") =>
  spawn(process.execPath, ["--conditions=@effect-rl/source", fileOf(program), ...args], {
    stdio: ["ignore", output, output]
  })

/** Starts a program from the folder `workers`. The process is killed when the scope closes. */
export const start = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawned(program, args)),
    (process) => Effect.sync(() => process.kill("SIGKILL"))
  )

export interface Options {
  /** The program to run, from the folder `workers`. Default: `Runner`. */
  readonly runner?: string
  /** The address of the shared database. Default: a new SQLite file. */
  readonly database?: string
  /** Default 3. */
  readonly processes?: number
}

/** Starts processes of one program. They are killed when the scope closes. */
export const make = (seed: number, { database: given, processes = 3, runner = "Runner" }: Options = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "effect-rl-cluster-"))
      const database = given ?? join(folder, "cluster.sqlite")
      const file = join(folder, "output")
      const output = openSync(file, "a")
      const start = () => spawned(runner, [database, folder], output)
      const running: Array<ChildProcess> = Array.from({ length: processes }, start)
      const uniform = Seed.uniform(seed)
      const allReady = Walks.until(() => {
        const ended = running.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)
        if (ended !== undefined) assert.fail(`a process ended by itself: ${readFileSync(file, "utf8").slice(-2000)}`)
        return running.every(({ pid }) => existsSync(join(folder, `ready-${pid}`)))
      })
      /** Waits until all processes are up, then kills one without warning and starts another in its place. */
      const kill = Effect.gen(function*() {
        yield* allReady
        yield* Effect.sleep(1000 * uniform())
        const at = Math.floor(processes * uniform())
        const [killed] = running.splice(at, 1, start())
        killed?.kill("SIGKILL")
      })
      /** Kills the first process without warning and does not replace it. */
      const lose = Effect.sync(() => running.shift()?.kill("SIGKILL"))
      return { allReady, database, folder, kill, lose, output, running }
    }),
    ({ folder, output, running }) =>
      Effect.sync(() => {
        for (const process of running) process.kill("SIGKILL")
        closeSync(output)
        rmSync(folder, { recursive: true, force: true })
      })
  )
