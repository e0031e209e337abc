/** A thread beside the server, so that long work for one caller does not hold up the requests of others. */
import { TinkerError } from "@effect-rl/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { Worker } from "node:worker_threads"
import * as FairShare from "./FairShare.ts"

export interface Thread<Order, Reply> {
  /**
   * The reply to the order of a caller, in turn with the orders of others. The memory of `moved` is the thread's from then on.
   * Interruption stops the thread.
   */
  readonly ask: (
    caller: string,
    order: Order,
    moved?: ReadonlyArray<ArrayBuffer>
  ) => Effect.Effect<Reply, TinkerError.Rejected | TinkerError.Unavailable>
}

export interface Options {
  /** The thread's work, as named in errors. */
  readonly work: string
  /** Its program, which answers each order with a reply. */
  readonly file: URL
  /** Longest time for one order. */
  readonly deadline: Duration.Input
  /** Memory for everything but arrays of numbers. */
  readonly heapMebibytes: number
  /** The refusal of an order that takes longer than the deadline. */
  readonly tooSlow: (deadline: string) => string
  /** The refusal of an order that takes more memory. */
  readonly tooLarge: (mebibytes: number) => string
}

const isSource = import.meta.url.endsWith(".ts")

/** Sources run with their types stripped and need the condition that finds the sources of other packages. */
const execArgv = isSource ? ["--conditions=@effect-rl/source"] : []

/** The program in a module of this folder. */
export const program = (name: string): URL => new URL(`./${name}.${isSource ? "ts" : "js"}`, import.meta.url)

const youngMebibytes = 16

/** Callers whose orders are let in, each with one. */
const mostCallers = 2

const isOutOfMemory = (cause: unknown) =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"

/** Starts the thread at the first order and stops it with the scope; a thread that fails or takes too long is replaced at the next. */
export const make = Effect.fnUntraced(function*<Order, Reply>(options: Options) {
  const { deadline, file, heapMebibytes, tooLarge, tooSlow, work } = options
  const fair = FairShare.make(mostCallers)
  const oneAtATime = yield* Semaphore.make(1)
  let running: Worker | undefined

  const start = () => {
    const resourceLimits = { maxOldGenerationSizeMb: heapMebibytes, maxYoungGenerationSizeMb: youngMebibytes }
    const worker = new Worker(file, { execArgv, resourceLimits })
    worker.unref()
    const forget = () => {
      if (running === worker) running = undefined
    }
    // A thread that failed takes orders until it has ended, and answers none.
    worker.on("error", forget).once("exit", forget)
    return running = worker
  }

  const stop = Effect.promise(async () => {
    const worker = running
    running = undefined
    await worker?.terminate()
  })
  yield* Effect.addFinalizer(() => stop)

  const failure = (cause: unknown) =>
    isOutOfMemory(cause)
      ? new TinkerError.Rejected({ detail: tooLarge(heapMebibytes) })
      : new TinkerError.Unavailable({
        detail: `the thread that ${work} failed: ${cause instanceof Error ? cause.message : String(cause)}`
      })

  const post = (worker: Worker, order: Order, moved: ReadonlyArray<ArrayBuffer>) =>
    Effect.callback<Reply, TinkerError.Rejected | TinkerError.Unavailable>((resume) => {
      const forget = () => worker.off("message", answered).off("error", failed).off("exit", ended)
      const answered = (reply: Reply) => {
        forget()
        resume(Effect.succeed(reply))
      }
      const failed = (cause: unknown) => {
        forget()
        resume(Effect.fail(failure(cause)))
      }
      const ended = (code: number) => failed(`it ended with code ${code}`)
      worker.on("message", answered).on("error", failed).on("exit", ended)
      worker.postMessage(order, moved)
      return Effect.sync(forget)
    })

  const stopped = Effect.flatMap(
    stop,
    () => new TinkerError.Rejected({ detail: tooSlow(Duration.format(Duration.fromInputUnsafe(deadline))) })
  )

  const answer = (order: Order, moved: ReadonlyArray<ArrayBuffer>) =>
    Effect.suspend(() => post(running ?? start(), order, moved)).pipe(
      Effect.timeoutOrElse({ duration: deadline, orElse: () => stopped }),
      Effect.onInterrupt(() => stop)
    )

  return {
    ask: (caller, order, moved = []) => fair.use(caller, 1)(oneAtATime.withPermits(1)(answer(order, moved)))
  } satisfies Thread<Order, Reply>
})
