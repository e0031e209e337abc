/**
 * The process that hosts Python for one program at a time. It compiles the module once, ends a program at its limits by terminating the
 * thread, and keeps the next thread ready. It exits when the process that started it is gone.
 */
import { readFileSync } from "node:fs"
import { Worker } from "node:worker_threads"
import type { Done, Ending, Order, Reply, Report, Run, Task } from "./Protocol.ts"
import { importMemory } from "./PythonModule.ts"
import * as SharedOutputs from "./SharedOutputs.ts"
import { compile } from "./WebAssembly.ts"

const isSource = import.meta.url.endsWith(".ts")
const file = new URL(isSource ? "./thread.ts" : "./thread.js", import.meta.url)
const execArgv = isSource ? ["--conditions=@effect-rl/source"] : []

/** Heap for a program's files, whose bytes are limited elsewhere, and stack for recursion in Python. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 64 }

/** Programs that one thread runs before it is replaced. The memory of instances is freed with their thread at the latest. */
const programsPerThread = 16

/** The interval at which processor time is checked, in milliseconds. */
const watchMillis = 25

const isOrder = (value: unknown): value is Order => typeof value === "object" && value !== null && "_tag" in value

/** Whether a thread ran out of heap. A program can fill the heap with the names of many files. */
const isOutOfHeap = (cause: unknown) =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"

const send = (reply: Reply) => void process.send?.(reply)

const [, , modulePath = ""] = process.argv
const { bytes, pages } = importMemory(readFileSync(modulePath))
const module = await compile(bytes)

interface Thread {
  readonly worker: Worker
  programs: number
}

const startThread = (): Thread => {
  const worker = new Worker(file, { workerData: { module, pages }, execArgv, resourceLimits, env: {}, stdin: true })
  worker.on("error", () => {})
  return { worker, programs: 0 }
}

let next = startThread()
let kill: (() => void) | undefined

const cpuMillis = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

const execute = (run: Run) => {
  const thread = next
  thread.programs++
  const outputs = SharedOutputs.make(run.output)
  const startedAt = performance.now()
  const cpuAtStart = cpuMillis()
  let isDone = false

  const finish = (ending: Ending, files?: Report["files"]) => {
    if (isDone) return
    isDone = true
    clearInterval(watch)
    kill = undefined
    const report = {
      ending,
      stdout: SharedOutputs.read(outputs, "stdout"),
      stderr: SharedOutputs.read(outputs, "stderr"),
      wallMillis: performance.now() - startedAt,
      ...(files === undefined ? {} : { files })
    }
    thread.worker.removeAllListeners("message").removeAllListeners("error").on("error", () => {})
    send({ _tag: "Report", report })
  }
  let isStopping = false
  const stop = (ending: Ending) => {
    if (isStopping) return
    isStopping = true
    clearInterval(watch)
    next = startThread()
    void thread.worker.terminate().then(() => finish(ending))
  }
  const watch = setInterval(() => {
    if (performance.now() - startedAt > run.wallMillis) return stop({ _tag: "TimedOut", limit: "wall" })
    if (cpuMillis() - cpuAtStart > run.cpuMillis) stop({ _tag: "TimedOut", limit: "cpu" })
  }, Math.min(watchMillis, run.wallMillis))

  kill = () => stop({ _tag: "Killed" })
  thread.worker.on("message", ({ ending, files }: Done) => {
    if (thread.programs >= programsPerThread) {
      void thread.worker.terminate()
      next = startThread()
    }
    finish(ending, files)
  })
  thread.worker.on("error", (cause) => {
    if (!isOutOfHeap(cause)) return send({ _tag: "Failed", detail: String(cause) })
    next = startThread()
    finish({ _tag: "OutOfMemory" })
  })
  thread.worker.postMessage({ ...run, outputs } satisfies Task)
}

process.on("message", (order: unknown) => {
  if (!isOrder(order)) return
  if (order._tag === "Run") execute(order.run)
  else kill?.()
})
process.on("disconnect", () => process.exit())
send({ _tag: "Ready" })
