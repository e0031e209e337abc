/** A thread beside the server that computes large losses, so that no caller's loss holds up the requests of others. */
import { TinkerError } from "@effect-rl/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { Worker } from "node:worker_threads"
import * as Fair from "./Fair.ts"
import type * as LossWork from "./LossWork.ts"

export interface LossThread {
  /** Computes the order of a caller, in turn with the orders of others. Interruption stops the computation. */
  readonly compute: (
    caller: string,
    order: LossWork.Order
  ) => Effect.Effect<ReadonlyArray<LossWork.Evaluated>, TinkerError.Rejected | TinkerError.Unavailable>
}

export interface Options {
  /** Longest time for one order; default 10 seconds. */
  readonly deadline?: Duration.Input
  /** The thread's program, which answers each `LossWork.Order` with a `LossWork.Reply`; default is `LossWork.compute`. */
  readonly file?: URL
}

/** Sources run with their types stripped and need the condition that finds the sources of other packages. */
const entry = import.meta.url.endsWith(".ts")
  ? { file: "./lossWorker.ts", execArgv: ["--conditions=@effect-rl/source"] }
  : { file: "./lossWorker.js", execArgv: [] }

/** Arrays of numbers lie outside of the heap; the cost of an order bounds them to another 192 MiB. */
const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 16 }

const isOutOfMemory = (cause: unknown) =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"

const failure = (cause: unknown) =>
  isOutOfMemory(cause)
    ? new TinkerError.Rejected({
      detail: `the loss takes more than ${resourceLimits.maxOldGenerationSizeMb} MiB beside its tensors: ` +
        "sort or reduce smaller ones"
    })
    : new TinkerError.Unavailable({
      detail: `the thread that computes losses failed: ${cause instanceof Error ? cause.message : String(cause)}`
    })

const ask = (worker: Worker, order: LossWork.Order) =>
  Effect.callback<LossWork.Reply, TinkerError.Rejected | TinkerError.Unavailable>((resume) => {
    const forget = () => worker.off("message", answered).off("error", failed).off("exit", ended)
    const answered = (reply: LossWork.Reply) => {
      forget()
      resume(Effect.succeed(reply))
    }
    const failed = (cause: unknown) => {
      forget()
      resume(Effect.fail(failure(cause)))
    }
    const ended = (code: number) => failed(`it ended with code ${code}`)
    worker.on("message", answered).on("error", failed).on("exit", ended)
    worker.postMessage(order)
    return Effect.sync(forget)
  })

/** Callers whose orders are let in, each with one. */
const mostCallers = 2

/** Starts the thread at the first order and stops it with the scope; a thread that fails or takes too long is replaced at the next. */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const { deadline = "10 seconds", file = new URL(entry.file, import.meta.url) } = options
  const fair = Fair.make(mostCallers)
  const oneAtATime = yield* Semaphore.make(1)
  let running: Worker | undefined

  const start = () => {
    const worker = new Worker(file, { execArgv: entry.execArgv, resourceLimits })
    worker.unref()
    worker.on("error", () => {})
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

  const tooSlow = Effect.flatMap(stop, () =>
    new TinkerError.Rejected({
      detail: `the loss takes longer than ${Duration.format(Duration.fromInputUnsafe(deadline))} for these data: ` +
        "send fewer datums, or use smaller tensors"
    }))

  const evaluate = (order: LossWork.Order) =>
    Effect.suspend(() => ask(running ?? start(), order)).pipe(
      Effect.timeoutOrElse({ duration: deadline, orElse: () => tooSlow }),
      Effect.onInterrupt(() => stop),
      Effect.flatMap((reply) =>
        reply._tag === "Evaluated"
          ? Effect.succeed(reply.evaluations)
          : Effect.fail(new TinkerError.Rejected({ detail: reply.detail }))
      )
    )

  return {
    compute: (caller, order) => fair.use(caller, 1)(oneAtATime.withPermits(1)(evaluate(order)))
  } satisfies LossThread
})
