/** A grading thread that never answers "stuck", ends at "crash" and finds everything else right. */
import { parentPort } from "node:worker_threads"

parentPort?.on("message", ({ answer }: { readonly answer: string }) => {
  if (answer === "crash") process.exit(1)
  while (answer === "stuck") continue
  parentPort?.postMessage(true)
})
