/**
 * Measures the upper bound: the speed of the engine's own matrix product for its best shape, with the vector instructions that an engine
 * uses, on all processors at the same time.
 */
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as KernelModule from "@effect-rl/engine/runtime/KernelModule"
import { availableParallelism } from "node:os"
import { isMainThread, parentPort, Worker } from "node:worker_threads"

const size = 512
const windows = 8
const windowMillis = 500

/** GFLOP/s of this thread, one value per time window. */
const measure = () => {
  const memory = Memory.make()
  const { allocate } = Memory.reserver(memory)
  const kernels = Kernels.instantiate(KernelModule.compile(true).module, memory)
  const [a, b, c] = [allocate(size * size), allocate(size * size), allocate(size * size)]
  Memory.floats(memory, a, size * size).fill(0.5)
  Memory.floats(memory, c, size * size).fill(0.25)
  kernels.packRows(b, c, size, size, size, 1)
  const multiply = () => kernels.gemm(c, a, b, size, size, size, size, size, 0)
  multiply()
  multiply()
  return Array.from({ length: windows }, () => {
    const start = performance.now()
    let count = 0
    while (performance.now() - start < windowMillis) {
      multiply()
      count++
    }
    return 2 * size ** 3 * count / (performance.now() - start) / 1e6
  })
}

if (isMainThread) {
  const threads = Array.from(
    { length: availableParallelism() },
    () =>
      new Promise<ReadonlyArray<number>>((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url))
        worker.once("message", resolve)
        worker.once("error", reject)
      })
  )
  const rates = await Promise.all(threads)
  const totals = Array.from({ length: windows }, (_, window) => rates.reduce((sum, own) => sum + (own[window] ?? 0), 0))
  process.stdout.write(JSON.stringify(Math.max(...totals)))
} else {
  parentPort?.postMessage(measure())
}
