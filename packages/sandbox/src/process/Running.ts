/**
 * The programs that run in one sandbox.
 *
 * Invariants: once closed, no program starts; closing returns after the last one has ended, so that their folder can be removed.
 */
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import { Lost, type Operation, SandboxError } from "../SandboxError.ts"

export interface Running {
  /** Runs an effect while the sandbox is open; fails as `Lost` once it is closed. */
  readonly whileOpen: <A>(
    operation: Operation,
    use: (onStart: (stop: () => void) => () => void) => Effect.Effect<A, SandboxError>
  ) => Effect.Effect<A, SandboxError>
}

/** `use` registers how to end what it starts, and calls what it gets back when that has ended. */
export const make = (provider: string): Effect.Effect<Running, never, Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => ({ isOpen: true, stops: new Set<() => void>(), onEmpty: () => {} })),
      (state) =>
        Effect.callback<void>((done) => {
          state.isOpen = false
          state.onEmpty = () => done(Effect.void)
          if (state.stops.size === 0) return state.onEmpty()
          for (const stop of state.stops) stop()
        })
    ),
    (state): Running => ({
      whileOpen: (operation, use) =>
        Effect.suspend(() =>
          state.isOpen
            ? use((stop) => {
              state.stops.add(stop)
              if (!state.isOpen) stop()
              return () => {
                state.stops.delete(stop)
                if (!state.isOpen && state.stops.size === 0) state.onEmpty()
              }
            })
            : Effect.fail(
              new SandboxError({ provider, operation, reason: new Lost({ detail: "its scope has closed" }) })
            )
        )
    })
  )
