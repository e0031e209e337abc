/** A pool of permits that limits concurrent use of a resource. */
import * as Effect from "effect/Effect"
import { Event, type Observe, type Pool } from "./Activity.ts"
import type { WireError } from "./WireError.ts"

export interface Budget {
  /**
   * Runs the work with `amount` permits in order of arrival. Work whose `amount` exceeds the whole budget runs alone.
   */
  readonly use: (amount: number) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | WireError, R>
  /** Fails the work that is waiting for permits. */
  readonly dismiss: (error: WireError) => void
}

interface Waiter {
  readonly amount: number
  state: "new" | "waiting" | "granted" | "gone"
  resume: (turn: Effect.Effect<void, WireError>) => void
}

/**
 * Creates a pool of `size` permits. Each step takes constant time however much work is waiting, which Effect's Semaphore does not
 * guarantee.
 */
export const make = (pool: Pool, size: number, observe: Observe): Budget => {
  let inUse = 0
  let waiters: Array<Waiter> = []
  let first = 0
  let waiting = 0

  const tell = () => observe(Event.Permits({ pool, inUse, size, waiting }))

  const fits = (amount: number) => inUse === 0 || inUse + amount <= size

  const forget = () => {
    if (first < 1024 || first * 2 < waiters.length) return
    waiters = waiters.slice(first)
    first = 0
  }

  /**
   * Resumes waiters, oldest first, while their permits fit. A resumed waiter may release its permits immediately and
   * admit others before the loop continues.
   */
  const admit = () => {
    for (let next = waiters[first]; next !== undefined; next = waiters[first]) {
      if (next.state === "waiting" && !fits(next.amount)) break
      first++
      if (next.state === "waiting") {
        next.state = "granted"
        waiting--
        inUse += next.amount
        next.resume(Effect.void)
      }
    }
    forget()
  }

  const release = (amount: number) =>
    Effect.sync(() => {
      inUse -= amount
      admit()
      tell()
    })

  const leave = (waiter: Waiter) =>
    Effect.suspend(() => {
      if (waiter.state === "granted") return release(waiter.amount)
      if (waiter.state === "waiting") waiting--
      waiter.state = "gone"
      return Effect.sync(admit)
    })

  const wait = (amount: number) =>
    Effect.suspend(() => {
      const waiter: Waiter = { amount, state: "new", resume: () => {} }
      return Effect.callback<void, WireError>((resume) => {
        waiter.resume = resume
        waiter.state = "waiting"
        waiters.push(waiter)
        waiting++
        tell()
      }).pipe(Effect.onInterrupt(() => leave(waiter)))
    })

  /** Takes permits if they are available without waiting, and returns whether it took them. */
  const takes = (amount: number) => {
    if (waiting > 0 || !fits(amount)) return false
    inUse += amount
    tell()
    return true
  }

  const dismiss = (error: WireError) => {
    const all = waiters.slice(first).filter(({ state }) => state === "waiting")
    waiters = []
    first = 0
    waiting = 0
    for (const waiter of all) {
      waiter.state = "gone"
      waiter.resume(Effect.fail(error))
    }
    tell()
  }

  return {
    dismiss,
    use: (amount) => (self) =>
      Effect.uninterruptibleMask((restore) => {
        const using = () => Effect.ensuring(restore(self), release(amount))
        return takes(amount) ? using() : Effect.flatMap(restore(wait(amount)), using)
      })
  }
}
