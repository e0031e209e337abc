/** Misbehaving programs: their episodes end within their limits, their sessions stop answering, and no process remains. */
import { type AgentEnv, AgentGateway, Launcher } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Path, Schedule } from "effect"
import { createServer } from "node:http"
import * as Talk from "../episode/Talk.ts"

const services = Layer.mergeAll(
  AgentGateway.AgentGateway.layer.pipe(
    Layer.provide(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
  ),
  Launcher.Launcher.unsafeHost.pipe(Layer.provide(NodeServices.layer)),
  NodeServices.layer
)

/** The prelude of every program. `ask` sends a request and notes the status; `note` writes a line for the test to read. */
const prelude = `
  import { appendFileSync } from "node:fs"
  import { spawn } from "node:child_process"
  import { setTimeout as sleep } from "node:timers/promises"
  const { NOTES: notes, OPENAI_API_KEY: key, OPENAI_BASE_URL: url } = process.env
  const note = (line) => appendFileSync(notes, line + "\\n")
  const ask = async (content, { headers = {}, signal, ...fields } = {}) => {
    const response = await fetch(url + "/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + key, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "${Talk.name}", messages: [{ role: "user", content }], ...fields }),
      signal
    })
    note("status " + response.status)
    return response
  }
  note("pid " + process.pid)
`

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Runs the program. Returns how its episode ended, its notes, and its remaining processes. */
const played = Effect.fnUntraced(function*(
  script: string,
  options: Pick<AgentEnv.Options, "limits" | "idleTimeout"> = {},
  afterwards: Effect.Effect<void> = Effect.void
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const notes = join(yield* fs.makeTempDirectoryScoped(), "notes")
  yield* fs.writeFileString(notes, "")
  const model = yield* Talk.modelOf("qwen3_instruct")
  const argv = [process.execPath, "--input-type=module", "-e", prelude + script] as const
  const trajectory = yield* Effect.scoped(Effect.gen(function*() {
    const env = yield* AgentGateway.env({
      model,
      ...options,
      run: ({ env }) =>
        Effect.map(
          Launcher.Launcher.use(({ run }) => run({ argv, env: { ...env, NOTES: notes } })),
          ({ stdout }) => stdout.includes("done") ? 1 : 0
        )
    })
    return yield* Rollout.episode(env, Talk.saying(...Array.from({ length: 100 }, String)).policy, Talk.key)
  }))
  yield* afterwards
  const lines = (yield* fs.readFileString(notes)).trim().split("\n").map((line) => line.split(" "))
  const noted = (name: string) => lines.flatMap(([key, value]) => key === name ? [Number(value)] : [])
  const left = noted("pid").filter(isAlive)
  return {
    ended: Option.getOrThrow(trajectory.stopReason),
    reward: trajectory.stepReward,
    turns: trajectory.transitions.length,
    trained: trajectory.transitions.filter(({ trainable }) => trainable !== false).length,
    statuses: noted("status"),
    processes: noted("pid").length,
    left
  }
}, Effect.scoped)

const untrained = { reward: 0, left: [] }

describe("a program as an agent", () => {
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("that sleeps ends with idle_timeout", () =>
      Effect.gen(function*() {
        const found = yield* played(`await ask("one"); await sleep(1e6)`, { idleTimeout: "2 seconds" })
        assert.deepInclude(found, { ...untrained, ended: "idle_timeout", turns: 1, statuses: [200] })
      }))

    it.effect("that hangs and ignores signals is killed at its time limit", () =>
      Effect.gen(function*() {
        const script = `process.on("SIGTERM", () => {}); await ask("one"); for (;;);`
        const found = yield* played(script, { limits: { rolloutTimeout: "3 seconds" } })
        assert.deepInclude(found, { ...untrained, ended: "rollout_timeout", processes: 1 })
      }))

    it.effect("that asks forever ends at its turn limit", () =>
      Effect.gen(function*() {
        const found = yield* played(`for (let n = 0; ; n++) await ask("again " + n)`, { limits: { maxTurns: 5 } })
        assert.deepInclude(found, { ...untrained, ended: "max_turns", turns: 5 })
      }))

    it.effect("that samples endlessly ends at its token limit", () =>
      Effect.gen(function*() {
        const found = yield* played(`for (let n = 0; ; n++) await ask("again " + n)`, {
          limits: { maxSampledTokens: 9 }
        })
        assert.deepInclude(found, { ...untrained, ended: "max_sampled_tokens" })
      }))

    it.effect("that crashes is judged by what it did", () =>
      Effect.gen(function*() {
        const found = yield* played(`await ask("one"); process.kill(process.pid, "SIGKILL")`)
        assert.deepInclude(found, { ...untrained, ended: "completed", turns: 1 })
      }))

    it.effect(
      "that does not read its standard input has its own exit code, or that of the signal that ended it",
      () =>
        Effect.gen(function*() {
          const { run } = yield* Launcher.Launcher
          const stdin = "x".repeat(2 ** 21)
          const ended = yield* run({ argv: [process.execPath, "-e", "process.exit(3)"], env: {}, stdin })
          assert.strictEqual(ended.exitCode, 3)
          const killed = yield* run({ argv: [process.execPath, "-e", "process.kill(process.pid, 'SIGTERM')"], env: {} })
          assert.strictEqual(killed.exitCode, 143)
          const missing = yield* Effect.flip(run({ argv: ["no-such-agent", "a secret"], env: {} }))
          assert.strictEqual(
            missing.message,
            "the launcher unsafe host cannot run no-such-agent: NotFound: spawn no-such-agent ENOENT"
          )
        }),
      30_000
    )

    it.effect("that closes its stream is answered in its next turn", () =>
      Effect.gen(function*() {
        const script = `
          const { body } = await ask("one", { stream: true })
          await body.cancel()
          await ask("two")
          console.log("done")
        `
        assert.deepInclude(yield* played(script), { ended: "completed", reward: 1, turns: 2, statuses: [200, 200] })
      }))

    it.effect("that repeats an abandoned request is answered with one turn", () =>
      Effect.gen(function*() {
        const script = `
          const impatient = AbortSignal.timeout(1)
          await ask("one", { signal: impatient }).catch(() => {})
          await ask("one", { headers: { "x-stainless-retry-count": "1" } })
          console.log("done")
        `
        assert.deepInclude(yield* played(script), { ended: "completed", reward: 1, turns: 1, trained: 1 })
      }))

    it.effect("that asks fifty times at once is answered in fifty turns", () =>
      Effect.gen(function*() {
        const script = `
          await Promise.all(Array.from({ length: 50 }, (_, n) => ask("number " + n)))
          console.log("done")
        `
        const found = yield* played(script)
        assert.deepInclude(found, { ended: "completed", reward: 1, turns: 50, trained: 50, left: [] })
        assert.deepStrictEqual(new Set(found.statuses), new Set([200]))
      }))

    it.effect(
      "that leaves child processes behind leaves only those that moved to their own process session",
      () =>
        Effect.gen(function*() {
          const script = `
          for (let n = 0; n < 3; n++) note("pid " + spawn("sleep", ["1000"]).pid)
          console.log("done")
          process.exit(0)
        `
          const found = yield* played(script)
          assert.deepInclude(found, { ended: "completed", reward: 1, processes: 4, left: [] })
        }),
      30_000
    )

    it.effect("whose detached child asks after the verdict is answered with 410", () =>
      Effect.gen(function*() {
        const child = `
          const { NOTES: notes, OPENAI_BASE_URL: url } = process.env
          await new Promise((resume) => setTimeout(resume, 1500))
          const body = JSON.stringify({ model: "${Talk.name}", messages: [{ role: "user", content: "late" }] })
          const { status } = await fetch(url + "/chat/completions", { method: "POST", body })
          ;(await import("node:fs")).appendFileSync(notes, "status " + status + "\\n")
        `
        const script = `
          const argv = ["--input-type=module", "-e", ${JSON.stringify(child)}]
          spawn(process.execPath, argv, { detached: true, stdio: "ignore", env: process.env }).unref()
          await ask("one")
          console.log("done")
        `
        const late = Effect.asVoid(Effect.repeat(Effect.void, { schedule: Schedule.spaced("1 second"), times: 6 }))
        const found = yield* played(script, {}, late)
        assert.deepInclude(found, { ended: "completed", reward: 1, turns: 1, statuses: [200, 410] })
      }))
  })
})
