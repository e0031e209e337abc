/** A process that hosts Python for one program at a time, and the communication with it. */
import * as Effect from "effect/Effect"
import { type ChildProcess, fork } from "node:child_process"
import * as HostFolder from "../host/HostFolder.ts"
import type { OnStart } from "../process/Running.ts"
import { Lost, Provision } from "../SandboxError.ts"
import type { Order, Reply, Report, Run } from "./Protocol.ts"

const isSource = import.meta.url.endsWith(".ts")
const file = new URL(isSource ? "./process.ts" : "./process.js", import.meta.url)
const execArgv = isSource ? ["--conditions=@effect-rl/source", "--disable-warning=ExperimentalWarning"] : []

/** How long after a program's time limit its process counts as unresponsive, in milliseconds. */
const graceMillis = 10_000
const setupMillis = 60_000

export interface Slot {
  /** Runs one program. `onStart` receives a function that kills it. */
  readonly run: (run: Run, onStart: OnStart) => Effect.Effect<Report, Lost | Provision>
  /** Whether the process can run another program. */
  readonly isUsable: () => boolean
  /** Ends the process. Returns when its descriptors are closed in this process. */
  readonly end: Effect.Effect<void>
}

const isReply = (value: unknown): value is Reply => typeof value === "object" && value !== null && "_tag" in value

const empty = new Uint8Array(0)

const unanswered = (run: Run): Report => ({
  ending: { _tag: "TimedOut", limit: "wall" },
  stdout: empty,
  stderr: empty,
  wallMillis: run.wallMillis + graceMillis
})

/** Starts a process. Programs can be sent immediately; they wait until the process is ready. */
export const start = (modulePath: string, host: string): Slot => {
  const child: ChildProcess = fork(file, [modulePath], {
    env: { [HostFolder.label]: host },
    execArgv,
    serialization: "advanced",
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"]
  })
  let isOver = false
  let said = ""
  let onReport: (result: Effect.Effect<Report, Lost | Provision>) => void = () => {}
  let onReady = () => {}
  let isReady = false
  let isClosed = false
  let onClosed = () => {}

  const over = (detail: string) => {
    isOver = true
    onReport(Effect.fail(isReady ? new Lost({ detail }) : new Provision({ detail })))
  }
  child.stderr?.on("data", (chunk: Uint8Array) => said = (said + String(chunk)).slice(-2000))
  child.on("error", ({ message }) => over(message))
  child.on("close", () => {
    isClosed = true
    onClosed()
  })
  child.on("exit", (code, signal) => over(`its process ended with ${signal ?? code}. ${said.trim()}`.trim()))
  child.on("message", (reply: unknown) => {
    if (!isReply(reply)) return
    if (reply._tag === "Report") return onReport(Effect.succeed(reply.report))
    if (reply._tag === "Failed") return onReport(Effect.fail(new Lost({ detail: reply.detail })))
    isReady = true
    onReady()
  })
  const send = (order: Order) => {
    if (child.connected) child.send(order)
  }
  const kill = () => {
    isOver = true
    child.kill("SIGKILL")
  }

  const run: Slot["run"] = (run, onStart) =>
    Effect.callback<Report, Lost | Provision>((resume) => {
      let timer = setTimeout(kill, setupMillis)
      let isSettled = false
      let isKilled = false
      let onSettled = () => {}
      const settle = (result: Effect.Effect<Report, Lost | Provision>) => {
        if (isSettled) return
        isSettled = true
        clearTimeout(timer)
        onReport = () => {}
        ended()
        resume(result)
        onSettled()
      }
      const late = () => {
        kill()
        settle(Effect.succeed(unanswered(run)))
      }
      const begin = () => {
        clearTimeout(timer)
        if (isKilled) return settle(Effect.succeed({ ...unanswered(run), ending: { _tag: "Killed" }, wallMillis: 0 }))
        timer = setTimeout(late, Math.min(run.wallMillis + graceMillis, 2 ** 31 - 1))
        send({ _tag: "Run", run })
      }
      const ended = onStart(() => {
        isKilled = true
        send({ _tag: "Kill" })
      })
      onReport = settle
      if (isOver) return settle(Effect.fail(new Lost({ detail: "its process has ended" })))
      if (isReady) begin()
      else onReady = begin
      return Effect.callback<void>((done) => {
        onSettled = () => done(Effect.void)
        if (isSettled) return onSettled()
        onReady = () => {}
        if (isReady) send({ _tag: "Kill" })
        else settle(Effect.fail(new Lost({ detail: "interrupted" })))
      })
    })

  return {
    run,
    isUsable: () => !isOver,
    end: Effect.callback<void>((done) => {
      if (isClosed || child.pid === undefined) return done(Effect.void)
      onClosed = () => done(Effect.void)
      kill()
    })
  }
}
