/** Counts what is acquired and released, so that a test can say that nothing leaked. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"

export interface Count {
  readonly acquired: number
  readonly released: number
}

/** Counts per kind of resource. */
export type Counts = Readonly<Record<string, Count>>

/** How many are held now, per kind; kinds with none are left out. */
export const live = (counts: Counts): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([kind, { acquired, released }]) =>
      acquired === released ? [] : [[kind, acquired - released]]
    )
  )

export class LeakAudit extends Context.Service<LeakAudit, {
  /** Counts when `acquire` begins, and when the surrounding scope has run what `acquire` added to it. */
  readonly track: <A, E, R>(kind: string, acquire: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Scope.Scope>
  readonly counts: Effect.Effect<Counts>
}>()("@effect-rl/core/testing/LeakAudit") {
  static readonly layer = Layer.effect(
    LeakAudit,
    Effect.gen(function*() {
      const counts = yield* Ref.make<Counts>({})
      const add = (kind: string, acquired: number, released: number) =>
        Ref.update(counts, (all) => {
          const old = all[kind] ?? { acquired: 0, released: 0 }
          return { ...all, [kind]: { acquired: old.acquired + acquired, released: old.released + released } }
        })
      return LeakAudit.of({
        counts: Ref.get(counts),
        track: (kind, acquire) => Effect.andThen(Effect.acquireRelease(add(kind, 1, 0), () => add(kind, 0, 1)), acquire)
      })
    })
  )
}
