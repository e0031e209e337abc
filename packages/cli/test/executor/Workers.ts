/** Runs a recipe whose environments wait, and workers for it in their own processes. */
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Postgres from "../../../cluster/test/Postgres.ts"
import * as CommandLine from "../CommandLine.ts"
import { outcome } from "../kill/Outcome.ts"
import { bin, launch } from "../Launch.ts"

export const recipe = fileURLToPath(new URL("./waiting-recipe.ts", import.meta.url))
export const env = { EFFECT_RL_CLUSTER_SECRET: "of the test" }

/** Trains to the end; returns the run's outcome and output. A database knows a durable run by its name. */
export const train = (executor: ReadonlyArray<string>, name = "run") =>
  Effect.gen(function*() {
    const folder = join(dirname(yield* CommandLine.runFolder), name)
    const ended = yield* launch(["train", recipe, "--workers", "1", "--log-path", folder, ...executor], { env })
    assert.strictEqual(ended.code, 0, ended.out + ended.errors)
    const said = ended.out + ended.errors + readFileSync(join(folder, "records.jsonl"), "utf8")
    assert.notInclude(said, "hidden", "a password is shown")
    return { ...outcome(folder), out: ended.out }
  })

type Exit = readonly [code: number | null, signal: NodeJS.Signals | null]

export interface Worker {
  readonly process: ChildProcess
  readonly printed: () => string
  /** Waits until the process has ended. */
  readonly ended: Effect.Effect<Exit>
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** A worker that has started; it is killed when the scope closes. Default address: a free port of 127.0.0.1. */
export const worker = (database: string, address?: Address): Effect.Effect<Worker, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { host, port } = address ?? { host: "127.0.0.1", port: yield* Postgres.freePort }
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(
          process.execPath,
          [
            "--conditions=@effect-rl/source",
            bin,
            "worker",
            "--join",
            database,
            "--host",
            host,
            "--port",
            String(port),
            "--workers",
            "1"
          ],
          { env: { ...process.env, ...env } }
        )
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const exit = new Promise<Exit>((resolve) => child.once("exit", (code, signal) => resolve([code, signal])))
    let text = ""
    yield* Effect.callback<void>((resume) => {
      const read = (more: string) => {
        text += more
        if (text.includes("worker at")) resume(Effect.void)
      }
      child.stdout.setEncoding("utf8").on("data", read)
      child.stderr.setEncoding("utf8").on("data", read)
      child.once("exit", () => resume(Effect.die(`the worker ended: ${text}`)))
    })
    return { process: child, printed: () => text, ended: Effect.promise(() => exit) }
  })

export const groups = ({ printed }: Worker) => printed().split("\n").filter((line) => line.startsWith("group ")).length
