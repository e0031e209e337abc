/** Measures the time to grade adversarial answers, on the caller's thread and in the worker. */
import { MathAnswer, MathGrader } from "@effect-rl/recipes"
import { Effect } from "effect"
import * as HostileAnswers from "../../packages/recipes/test/grading/HostileAnswers.ts"
import * as Report from "../Report.ts"

const pairs = HostileAnswers.pairs(10_000, 1)

const quantile = (sorted: ReadonlyArray<number>, share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN

const summary = (name: string, millis: ReadonlyArray<number>) => {
  const sorted = millis.toSorted((a, b) => a - b)
  return [name, ...[0.5, 0.9, 0.99, 1].map((share) => `${quantile(sorted, share).toFixed(2)} ms`)]
}

const inline = (options: MathAnswer.Options) =>
  pairs.map(([answer, reference]) => {
    const start = performance.now()
    MathAnswer.isCorrect(answer, reference, options)
    return performance.now() - start
  })

const inWorker = (options: MathAnswer.Options) =>
  Effect.forEach(pairs, ([answer, reference]) =>
    Effect.gen(function*() {
      const grader = yield* MathGrader.MathGrader
      const start = performance.now()
      yield* grader.isCorrect(answer, reference, options)
      return performance.now() - start
    })).pipe(Effect.provide(MathGrader.layerWorker()))

const rows = [
  summary("strict", inline({})),
  summary("lenient", inline({ lenient: true })),
  summary("strict, worker", await Effect.runPromise(inWorker({}))),
  summary("lenient, worker", await Effect.runPromise(inWorker({ lenient: true })))
]

Report.publish("grading", "Grading hostile answers", [
  `Time per verdict on ${pairs.length} pairs of up to ${
    Math.max(...pairs.flat().map(({ length }) => length))
  } characters.`,
  Report.table(["grading", "median", "90 %", "99 %", "slowest"], rows)
])
