/** A separate thread that computes losses, so one caller's loss does not delay other requests. */
import { TinkerError } from "@effect-rl/core"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as LossWork from "./LossWork.ts"
import * as Thread from "./Thread.ts"

export interface LossThread {
  /** Computes a caller's order; callers take turns. Interruption stops the computation. */
  readonly compute: (
    caller: string,
    order: LossWork.Order
  ) => Effect.Effect<ReadonlyArray<LossWork.Evaluated>, TinkerError.Rejected | TinkerError.Unavailable>
}

export interface Options {
  /** Time limit for one order. Default: 10 seconds. */
  readonly deadline?: Duration.Input
  /** The thread's program, which answers each `LossWork.Order` with a `LossWork.Reply`. Default: `LossWork.compute`. */
  readonly file?: URL
}

/** Heap limit in MiB. The cost limit of an order bounds its number arrays to another 192 MiB. */
const heapMebibytes = 48

const tooSlow = (deadline: string) =>
  `the loss takes longer than ${deadline} for these data: send fewer datums, or use smaller tensors`

const tooLarge = (mebibytes: number) =>
  `the loss takes more than ${mebibytes} MiB beside its tensors: sort or reduce smaller ones`

/** Starts the thread at the first order, and stops it when the scope closes. */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const { deadline = "10 seconds", file = Thread.program("lossWorker") } = options
  const work = "computes losses"
  const { ask } = yield* Thread.make<LossWork.Order, LossWork.Reply>({
    work,
    file,
    deadline,
    heapMebibytes,
    tooSlow,
    tooLarge
  })
  return {
    compute: (caller, order) =>
      Effect.flatMap(ask(caller, order), (reply) =>
        reply._tag === "Evaluated"
          ? Effect.succeed(reply.evaluations)
          : Effect.fail(new TinkerError.Rejected({ detail: reply.detail })))
  } satisfies LossThread
})
