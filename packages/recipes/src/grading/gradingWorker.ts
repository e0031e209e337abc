/** The program of the grading thread of `MathGrader.layerWorker`. */
import { parentPort } from "node:worker_threads"
import * as MathAnswer from "./MathAnswer.ts"
import type { Question } from "./MathGrader.ts"

parentPort?.on("message", ({ answer, options, reference }: Question) => {
  parentPort?.postMessage(MathAnswer.isCorrect(answer, reference, options))
})
