/** The worker program of `LossThread`, which computes losses. */
import { parentPort } from "node:worker_threads"
import * as LossWork from "./LossWork.ts"

parentPort?.on("message", (order: LossWork.Order) => {
  parentPort?.postMessage(LossWork.compute(order))
})
