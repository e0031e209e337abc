/** Grades mathematical answers, optionally in a separate thread. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import { Worker } from "node:worker_threads"
import * as MathAnswer from "./MathAnswer.ts"

/** A message to the grading thread. */
export interface Question {
  readonly answer: string
  readonly reference: string
  readonly options: MathAnswer.Options
}

export interface MathGrader {
  readonly isCorrect: (answer: string, reference: string, options?: MathAnswer.Options) => Effect.Effect<boolean>
}

export interface WorkerOptions {
  /** Time limit for one answer. An answer that takes longer is graded as wrong. Default: 1 second. */
  readonly deadline?: Duration.Input
  /** The thread's program, which answers each `Question` with a boolean. Default: `MathAnswer.isCorrect`. */
  readonly file?: URL
}

/** The thread's program and Node's options. The TypeScript program needs the condition that resolves other packages to their sources. */
const entry = import.meta.url.endsWith(".ts")
  ? { file: "./gradingWorker.ts", execArgv: ["--conditions=@effect-rl/source"] }
  : { file: "./gradingWorker.js", execArgv: [] }

const ask = (worker: Worker, question: Question) =>
  Effect.callback<boolean>((resume) => {
    const answered = (verdict: unknown) => settle(verdict === true)
    const failed = () => settle(false)
    const settle = (verdict: boolean) => {
      worker.off("message", answered).off("error", failed).off("exit", failed)
      resume(Effect.succeed(verdict))
    }
    worker.on("message", answered).on("error", failed).on("exit", failed)
    worker.postMessage(question)
  })

const makeWorker = Effect.fnUntraced(function*(options: WorkerOptions) {
  const { deadline = "1 second", file = new URL(entry.file, import.meta.url) } = options
  const oneAtATime = yield* Semaphore.make(1)
  let running: Worker | undefined
  const start = () => {
    const worker = new Worker(file, { execArgv: entry.execArgv })
    worker.unref()
    worker.once("exit", () => {
      if (running === worker) running = undefined
    })
    return running = worker
  }
  const stop = Effect.promise(async () => {
    const worker = running
    running = undefined
    await worker?.terminate()
  })
  yield* Effect.addFinalizer(() => stop)
  const grade = (question: Question) =>
    Effect.suspend(() => ask(running ?? start(), question)).pipe(
      Effect.timeoutOption(deadline),
      Effect.tap((verdict) => Option.isNone(verdict) ? stop : Effect.void),
      Effect.onInterrupt(() => stop),
      Effect.map(Option.getOrElse(() => false))
    )
  return {
    isCorrect: (answer, reference, options = {}) => oneAtATime.withPermits(1)(grade({ answer, reference, options }))
  } satisfies MathGrader
})

/**
 * Grades answers. The default uses `MathAnswer.isCorrect` on the caller's thread.
 *
 * @see tinker-cookbook `safe_grade`
 */
export const MathGrader: Context.Reference<MathGrader> = Context.Reference<MathGrader>(
  "@effect-rl/recipes/grading/MathGrader",
  {
    defaultValue: () => ({
      isCorrect: (answer, reference, options) => Effect.sync(() => MathAnswer.isCorrect(answer, reference, options))
    })
  }
)

/**
 * Grades in a separate thread, which starts with the first answer. If the thread exceeds the deadline or exits, the answer is graded as
 * wrong and the next answer starts a new thread.
 *
 * @example
 * const graded = MathGrader.MathGrader.use((grader) => grader.isCorrect("2^{10}", "1024")).pipe(
 *   Effect.provide(MathGrader.layerWorker({ deadline: "1 second" }))
 * )
 */
export const layerWorker = (options: WorkerOptions = {}): Layer.Layer<never> =>
  Layer.effect(MathGrader, makeWorker(options))
