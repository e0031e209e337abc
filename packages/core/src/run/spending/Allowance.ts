/** Keeps a run's spending, with the worst case of its requests under way, below the run's limits. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Spent from "../../records/Spent.ts"
import * as Tally from "../../records/Tally.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import * as Caps from "./Caps.ts"

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** No price is invented: a run whose dollars are limited ends where they would be unknown. */
const unknownDollars = (limit: number) =>
  new InvalidOption({
    field: "maxDollars",
    found: String(limit),
    expected: "to be left out, or prices for every model that the run asks"
  })

/**
 * A request is sent once its worst case fits. It waits while only the reservations of requests under way are in its way. Where it might
 * exceed a limit it never continues, because the run then ends.
 */
export const make = Effect.fnUntraced(function*(limits: Caps.Amounts, before: Spent.Spent) {
  const exhausted = yield* Deferred.make<Caps.Name, InvalidOption>()
  const settled = yield* Latch.make(false)
  const openedAt = yield* Clock.currentTimeMillis
  let spent = before
  let reserved = Caps.none
  let underWay = 0
  let reached: Caps.Name | undefined

  const exhaust = (name: Caps.Name) =>
    Effect.suspend(() => {
      reached ??= name
      return Deferred.succeed(exhausted, name)
    })
  const refuse = Deferred.fail(exhausted, unknownDollars(limits.max_dollars))
  const isUnknown = ({ dollars }: Spent.Spent) => dollars === undefined && Number.isFinite(limits.max_dollars)
  const pay = (cost: Spent.Spent) =>
    Effect.suspend(() => {
      spent = Spent.add(spent, cost)
      return Tally.add(cost)
    })

  const reserve = (cost: Spent.Spent, restore: Restore): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (isUnknown(cost)) return Effect.as(refuse, false)
      const amounts = Caps.amounts(cost)
      const paid = Caps.add(Caps.amounts(spent), amounts)
      const exceeded = Caps.exceeded(paid, limits)
      if (exceeded !== undefined) return Effect.as(exhaust(exceeded), false)
      if (underWay > 0 && Caps.exceeded(Caps.add(paid, reserved), limits) !== undefined) {
        return Effect.andThen(restore(settled.await), reserve(cost, restore))
      }
      underWay++
      reserved = Caps.add(reserved, amounts)
      return Effect.succeed(true)
    })
  const settle = (worst: Spent.Spent, cost: Spent.Spent) =>
    Effect.suspend(() => {
      underWay--
      reserved = underWay === 0 ? Caps.none : Caps.add(reserved, Caps.amounts(worst), -1)
      return Effect.andThen(pay(cost), settled.release)
    })

  const secondsLeft = 60 * limits.max_minutes - (before.seconds ?? 0)
  if (secondsLeft <= 0) yield* exhaust("max_minutes")
  else if (Number.isFinite(secondsLeft)) {
    yield* Effect.forkScoped(Effect.andThen(Effect.sleep(1000 * secondsLeft), exhaust("max_minutes")))
  }

  return {
    /** Everything paid for so far, in abandoned iterations too. */
    spent: Effect.map(
      Clock.currentTimeMillis,
      (now) => Spent.add(spent, { ...Spent.zero, seconds: (now - openedAt) / 1000 })
    ),
    exhausted: Deferred.await(exhausted),
    reached: Effect.sync(() => reached),
    /** Sends a request once its worst case fits; `paid` gives its actual cost. */
    send: <A, E, R>(
      request: Effect.Effect<A, E, R>,
      worst: Spent.Spent,
      paid: (exit: Exit.Exit<A, E>) => Spent.Spent
    ): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(reserve(worst, restore), (fits) =>
          fits
            ? Effect.onExit(restore(request), (exit) => settle(worst, paid(exit)))
            : restore(Effect.never))
      ),
    /** Pays a cost that fits; false where it does not, and the limit is then exhausted. */
    take: (cost: Spent.Spent) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(reserve(cost, restore), (fits) => fits ? settle(cost, cost) : Effect.void)
      ),
    /** Pays a cost that was incurred already, and may exceed a limit. */
    charge: (cost: Spent.Spent) =>
      Effect.flatMap(pay(cost), () => {
        if (isUnknown(cost)) return Effect.asVoid(refuse)
        const exceeded = Caps.exceeded(Caps.amounts(spent), limits)
        return exceeded === undefined ? Effect.void : Effect.asVoid(exhaust(exceeded))
      })
  }
})
