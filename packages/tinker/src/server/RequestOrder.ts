/** Runs the requests of one model in the order of their sequence numbers, in whichever order they arrive. */
import { TinkerError } from "@effect-rl/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Steps from "./Steps.ts"

export interface RequestOrder {
  /**
   * Runs `submit` after every smaller number had its turn, or at once without a number. A number whose turn is over fails as
   * `Rejected`.
   */
  readonly take: <A>(
    operation: string,
    sequence: number | undefined,
    submit: Effect.Effect<A, TinkerError.TinkerError>
  ) => Effect.Effect<A, TinkerError.TinkerError>
}

interface Waiting {
  readonly sequence: number
  /** Whether its number was used before. */
  readonly turn: Deferred.Deferred<boolean>
}

/** Clients send a request again for this long; a number that is missing for longer is given up. */
const missingFor = "5 minutes"

const late = (operation: string, sequence: number) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.Rejected({
      detail: `sequence number ${sequence} was used before, or came after later ones had run`
    })
  })

/** Numbers begin with 1. */
export const make = Effect.sync((): RequestOrder => {
  const waiting = new Set<Waiting>()
  let next = 1
  let isRunning = false

  /** The waiting request with the smallest number; of equal numbers, the one that arrived first. */
  const smallest = () => {
    let found: Waiting | undefined
    for (const one of waiting) if (found === undefined || one.sequence < found.sequence) found = one
    return found
  }

  /** Wakes the request whose turn it is, and late ones, which then fail. */
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

  /** Skips a missing number: the smallest waiting one goes next. */
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
