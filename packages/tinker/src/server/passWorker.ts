/** The worker program of `PassThread`, which reads large training passes. */
import * as Effect from "effect/Effect"
import { parentPort } from "node:worker_threads"
import * as PassWork from "./PassWork.ts"

parentPort?.on("message", (order: PassWork.Order) => {
  const reply = Effect.runSync(PassWork.compute(order))
  parentPort?.postMessage(reply, PassWork.buffers(reply))
})
