/** The thread that runs programs one after another. Each program gets a new instance with its own memory and files. */
import { parentPort, workerData } from "node:worker_threads"
import { BoundedWasi, Ended } from "./BoundedWasi.ts"
import type { Done, Ending, Task } from "./Protocol.ts"
import { memoryImport, pageSize, stackPages } from "./PythonModule.ts"
import { Instance, Memory, type Module, RuntimeError } from "./WebAssembly.ts"

interface Given {
  readonly module: Module
  readonly pages: number
}

const isGiven = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && "module" in value && "pages" in value

const isTask = (value: unknown): value is Task =>
  typeof value === "object" && value !== null && "argv" in value && "outputs" in value

/** If a failed program used more than this share of its memory limit, it counts as out of memory. */
const full = 0.9

const endingOf = (cause: unknown): Ending => {
  if (cause instanceof Ended) return cause.ending
  if (cause instanceof RuntimeError) return { _tag: "Signalled", signal: "SIGABRT" }
  if (cause instanceof RangeError) return { _tag: "Signalled", signal: "SIGSEGV" }
  throw cause
}

const start = (wasi: BoundedWasi, { module, pages }: Given, task: Task): Ending => {
  // The stack does not count towards the program's memory limit.
  const most = Math.max(pages, stackPages + Math.floor(task.memory / pageSize))
  const memory = new Memory({ initial: pages, maximum: most })
  const imports = { ...wasi.getImportObject(), [memoryImport.module]: { [memoryImport.name]: memory } }
  const instance = new Instance(module, imports)
  wasi.instance = instance
  wasi.memory = memory
  const begin = instance.exports["_start"]
  const run = (): Ending => {
    try {
      if (typeof begin === "function") begin()
      return { _tag: "Exited", code: 0 }
    } catch (cause) {
      return endingOf(cause)
    }
  }
  const ending = run()
  const isFull = memory.buffer.byteLength > full * most * pageSize
  const hasFailed = ending._tag === "Signalled" || ending._tag === "Exited" && ending.code !== 0
  return isFull && hasFailed ? { _tag: "OutOfMemory" } : ending
}

if (parentPort !== null && isGiven(workerData)) {
  const port = parentPort
  const given = workerData
  port.on("message", (task: unknown) => {
    if (!isTask(task)) return
    const wasi = new BoundedWasi(task)
    const ending = start(wasi, given, task)
    port.postMessage({ ending, ...(task.keepsFiles ? { files: wasi.files() } : {}) } satisfies Done)
  })
}
