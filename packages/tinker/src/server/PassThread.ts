/** A separate thread that reads large training passes, because parsing and checking a body of 64 MiB takes seconds. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Blocks from "./Blocks.ts"
import { fromTinkerError, type HttpRefusal } from "./HttpRefusal.ts"
import * as PassWork from "./PassWork.ts"
import * as Thread from "./Thread.ts"

export interface PassThread {
  /** Reads a caller's body. The blocks of a large body are transferred to the thread and cannot be used afterwards. */
  readonly read: (caller: string, order: PassWork.Order) => Effect.Effect<PassWork.Reply, HttpRefusal>
}

/** Bodies of at most this many bytes are read on the main thread, which takes a millisecond or two. */
const small = 65_536

const tooSlow = (deadline: string) => `the pass takes longer than ${deadline} to read: send fewer datums`

const tooLarge = (mebibytes: number) => `the pass takes more than ${mebibytes} MiB to read: send fewer datums`

const refused = (reason: TinkerError.Reason) =>
  fromTinkerError(new TinkerError.TinkerError({ operation: "readPass", reason }))

/** Starts the thread at the first large pass, and stops it when the scope closes. */
export const make = Effect.gen(function*() {
  const { ask } = yield* Thread.make<PassWork.Order, PassWork.Reply>({
    work: "reads passes",
    file: Thread.program("passWorker"),
    deadline: "1 minute",
    heapMebibytes: 512,
    tooSlow,
    tooLarge
  })
  return {
    read: (caller, order) =>
      Blocks.size(order.blocks) <= small
        ? PassWork.compute(order)
        : Effect.mapError(ask(caller, order, order.blocks.map(({ buffer }) => buffer)), refused)
  } satisfies PassThread
})
