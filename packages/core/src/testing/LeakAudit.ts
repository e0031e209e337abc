/** Counts acquired and released resources, so tests can check for leaks. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"

/** How often a resource was acquired and released. */
export interface Count {
  readonly acquired: number
  readonly released: number
}

/** Counts by kind of resource. */
export type Counts = Readonly<Record<string, Count>>

/** Acquisitions minus releases, by kind: the number of resources currently held. Kinds with 0 are omitted. */
export const live = (counts: Counts): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([kind, { acquired, released }]) =>
      acquired === released ? [] : [[kind, acquired - released]]
    )
  )

/** Tracks resources and counts them. */
export class LeakAudit extends Context.Service<LeakAudit, {
  /** Counts an acquisition when `acquire` begins, and a release when the surrounding scope has run the finalizers that `acquire` added. */
  readonly track: <A, E, R>(kind: string, acquire: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Scope.Scope>
  /** Counts a resource outside any scope; each run of the returned effect counts one release. */
  readonly hold: (kind: string) => Effect.Effect<Effect.Effect<void>>
  /** Counts the fibers that start within the effect, and their ends, under the kind `fiber`. */
  readonly fibers: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly counts: Effect.Effect<Counts>
}>()("@effect-rl/core/testing/LeakAudit") {
  static readonly make = Effect.sync(() => {
    const counts = new Map<string, Count>()
    const add = (kind: string, acquired: number, released: number) => {
      const old = counts.get(kind) ?? { acquired: 0, released: 0 }
      counts.set(kind, { acquired: old.acquired + acquired, released: old.released + released })
    }
    const acquired = (kind: string) => Effect.sync(() => add(kind, 1, 0))
    const released = (kind: string) => Effect.sync(() => add(kind, 0, 1))
    const fibers: Metric.FiberRuntimeMetricsService = {
      recordFiberStart: () => add("fiber", 1, 0),
      recordFiberEnd: () => add("fiber", 0, 1)
    }
    return LeakAudit.of({
      counts: Effect.sync(() => Object.fromEntries(counts)),
      track: (kind, acquire) => Effect.andThen(Effect.acquireRelease(acquired(kind), () => released(kind)), acquire),
      hold: (kind) => Effect.as(acquired(kind), released(kind)),
      fibers: Effect.provideService(Metric.FiberRuntimeMetrics, fibers)
    })
  })
  static readonly layer = Layer.effect(LeakAudit, LeakAudit.make)
}
