/** Runs a model's requests in the order of their sequence numbers, whatever order they arrive in. */
import { TinkerError } from "@effect-rl/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Steps from "./Steps.ts"

export interface RequestOrder {
  /**
   * Runs `submit` after all smaller numbers had their turn, or immediately if there is no number. Fails as `Rejected` if the number's turn
   * has passed.
   */
  readonly take: <A>(
    operation: string,
    sequence: number | undefined,
    submit: Effect.Effect<A, TinkerError.TinkerError>
  ) => Effect.Effect<A, TinkerError.TinkerError>
}

interface Waiting {
  readonly sequence: number
  /** Completes when the request's turn comes, with whether its number was already used. */
  readonly turn: Deferred.Deferred<boolean>
}

/** How long to wait for a missing number. Clients repeat a request for at most this long. */
const missingFor = "5 minutes"

const late = (operation: string, sequence: number) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.Rejected({
      detail: `sequence number ${sequence} was used before, or came after later ones had run`
    })
  })

/** Creates the order of one model's requests. Sequence numbers begin with 1. */
export const make = Effect.sync((): RequestOrder => {
  const waiting = new Set<Waiting>()
  let next = 1
  let isRunning = false

  /** The waiting request with the smallest number; among equal numbers, the first to arrive. */
  const smallest = () => {
    let found: Waiting | undefined
    for (const one of waiting) if (found === undefined || one.sequence < found.sequence) found = one
    return found
  }

  /** Wakes the request whose turn it is, and late requests, which then fail. */
  const wake = Steps.oneByOne(() => {
    const first = isRunning ? undefined : smallest()
    if (first === undefined || first.sequence > next) return false
    waiting.delete(first)
    isRunning = true
    const isLate = first.sequence < next
    next = Math.max(next, first.sequence + 1)
    Deferred.doneUnsafe(first.turn, Exit.succeed(isLate))
    return true
  })

  const done = Effect.suspend(() => {
    isRunning = false
    return wake
  })

  /** Skips missing numbers, so the smallest waiting number goes next. */
  const skipMissing = Effect.suspend(() => {
    next = isRunning ? next : smallest()?.sequence ?? next
    return wake
  })

  const awaitTurn = Effect.fnUntraced(function*(one: Waiting) {
    waiting.add(one)
    yield* wake
    while (true) {
      const isLate = yield* Effect.timeoutOption(Deferred.await(one.turn), missingFor)
      if (Option.isSome(isLate)) return isLate.value
      yield* skipMissing
    }
  })

  const take: RequestOrder["take"] = (operation, sequence, submit) =>
    sequence === undefined
      ? submit
      : Effect.gen(function*() {
        if (sequence < next) return yield* late(operation, sequence)
        const one: Waiting = { sequence, turn: yield* Deferred.make<boolean>() }
        const hadTurn = Effect.suspend(() => waiting.delete(one) ? Effect.void : done)
        const run = Effect.flatMap(awaitTurn(one), (isLate) => isLate ? late(operation, sequence) : submit)
        return yield* Effect.ensuring(run, hadTurn)
      })

  return { take }
})
