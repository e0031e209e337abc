/** A separate thread for long work, so one caller's work does not delay other requests. */
import { TinkerError } from "@effect-rl/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { Worker } from "node:worker_threads"
import * as FairShare from "./FairShare.ts"

export interface Thread<Order, Reply> {
  /**
   * Sends a caller's order and returns the reply; callers take turns. The buffers in `moved` are transferred to the thread. Interruption
   * stops the thread.
   */
  readonly ask: (
    caller: string,
    order: Order,
    moved?: ReadonlyArray<ArrayBuffer>
  ) => Effect.Effect<Reply, TinkerError.Rejected | TinkerError.Unavailable>
}

export interface Options {
  /** Describes the thread's work in errors. */
  readonly work: string
  /** The thread's program, which answers each order with a reply. */
  readonly file: URL
  /** Time limit for one order. */
  readonly deadline: Duration.Input
  /** Heap limit in MiB, excluding number arrays. */
  readonly heapMebibytes: number
  /** The refusal of an order that exceeds the time limit. */
  readonly tooSlow: (deadline: string) => string
  /** The refusal of an order that exceeds the memory limit. */
  readonly tooLarge: (mebibytes: number) => string
}

const isSource = import.meta.url.endsWith(".ts")

/** TypeScript sources run with type stripping, and need this condition to resolve the sources of other packages. */
const execArgv = isSource ? ["--conditions=@effect-rl/source"] : []

/** The URL of a program in this folder, by module name. */
export const program = (name: string): URL => new URL(`./${name}.${isSource ? "ts" : "js"}`, import.meta.url)

const youngMebibytes = 16

/** Number of callers whose orders are admitted at once, one order each. */
const mostCallers = 2

const isOutOfMemory = (cause: unknown) =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"

/**
 * Starts the thread at the first order, and stops it when the scope closes. A thread that fails or exceeds its time limit is replaced at
 * the next order.
 */
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
    // A failed thread accepts messages until it exits, but answers none.
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
