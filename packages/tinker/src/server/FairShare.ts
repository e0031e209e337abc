/** Shares a capacity among callers. Each caller can use at most half of it, and waiting callers take turns. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Steps from "./Steps.ts"

export interface FairShare {
  /** Runs `work` while it holds `weight` of the capacity. A weight above a caller's half is reduced to that half. */
  readonly use: (
    caller: string,
    weight: number
  ) => <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Waiting {
  readonly weight: number
  readonly granted: Deferred.Deferred<void>
}

interface Share {
  used: number
  readonly waiting: Array<Waiting>
}

export const make = (capacity: number): FairShare => {
  const half = Math.floor(capacity / 2)
  /** Callers that use capacity or wait for it, in turn order. */
  const shares = new Map<string, Share>()
  let free = capacity

  const shareOf = (caller: string) => {
    const share = shares.get(caller) ?? { used: 0, waiting: [] }
    shares.set(caller, share)
    return share
  }

  const isWithinShare = ({ used }: Share, weight: number) => used + weight <= half

  const take = (share: Share, weight: number) => {
    share.used += weight
    free -= weight
  }

  /** The first caller in turn whose share has room. This caller's request is served next; if capacity is short, all others wait. */
  const nextInTurn = () => {
    for (const [caller, share] of shares) {
      const [first] = share.waiting
      if (first !== undefined && isWithinShare(share, first.weight)) return { caller, share, first }
    }
    return undefined
  }

  const grant = Steps.oneByOne(() => {
    const next = nextInTurn()
    if (next === undefined || next.first.weight > free) return false
    const { caller, first, share } = next
    share.waiting.shift()
    take(share, first.weight)
    shares.delete(caller)
    shares.set(caller, share)
    Deferred.doneUnsafe(first.granted, Exit.void)
    return true
  })

  const release = (caller: string, weight: number) =>
    Effect.suspend(() => {
      const share = shareOf(caller)
      share.used -= weight
      free += weight
      if (share.used === 0 && share.waiting.length === 0) shares.delete(caller)
      return grant
    })

  const enqueue = Effect.fnUntraced(function*(caller: string, weight: number) {
    const one: Waiting = { weight, granted: yield* Deferred.make<void>() }
    shareOf(caller).waiting.push(one)
    yield* grant
    return one
  })

  const leave = (caller: string, one: Waiting) =>
    Effect.suspend(() => {
      const { waiting } = shareOf(caller)
      const at = waiting.indexOf(one)
      if (at < 0) return release(caller, one.weight)
      waiting.splice(at, 1)
      return grant
    })

  return {
    use: (caller, weight) => (work) =>
      Effect.acquireUseRelease(
        enqueue(caller, Math.min(Math.max(weight, 1), half)),
        ({ granted }) => Effect.andThen(Deferred.await(granted), work),
        (one) => leave(caller, one)
      )
  }
}
