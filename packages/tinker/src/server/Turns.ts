/** Lets the requests of one model through in the order of their sequence numbers, however they arrive. */
import { TinkerError } from "@effect-rl/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export interface Turns {
  /** Runs `submit` when all numbers before `sequence` had their turn; at once where there is no number. */
  readonly take: <A>(
    operation: string,
    sequence: number | undefined,
    submit: Effect.Effect<A, TinkerError.TinkerError>
  ) => Effect.Effect<A, TinkerError.TinkerError>
}

/** For as long as clients try to send a request again; one missing for longer is not coming. */
const missingFor = "5 minutes"

const late = (operation: string, sequence: number) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.Rejected({
      detail: `sequence number ${sequence} came after later ones had run, or its result is no longer kept`
    })
  })

/** Numbers begin with 1. */
export const make = Effect.sync((): Turns => {
  const waiting = new Map<number, Deferred.Deferred<void>>()
  let next = 1
  let isRunning = false

  const wake = Effect.suspend(() => {
    const turn = isRunning ? undefined : waiting.get(next)
    return turn === undefined ? Effect.void : Deferred.succeed(turn, undefined)
  })

  const skipMissing = Effect.suspend(() => {
    if (!isRunning && !waiting.has(next)) next = Math.min(...waiting.keys())
    return wake
  })

  const awaitTurn = Effect.fnUntraced(function*(sequence: number) {
    if (sequence === next && !isRunning) return
    const turn = yield* Deferred.make<void>()
    waiting.set(sequence, turn)
    while (Option.isNone(yield* Effect.timeoutOption(Deferred.await(turn), missingFor))) yield* skipMissing
    waiting.delete(sequence)
  })

  const run = <A, E>(sequence: number, submit: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      isRunning = true
      next = sequence + 1
      return Effect.ensuring(
        submit,
        Effect.suspend(() => {
          isRunning = false
          return wake
        })
      )
    })

  const take: Turns["take"] = (operation, sequence, submit) =>
    sequence === undefined
      ? submit
      : Effect.suspend(() =>
        sequence < next
          ? Effect.fail(late(operation, sequence))
          : Effect.andThen(awaitTurn(sequence), run(sequence, submit))
      )

  return { take }
})
