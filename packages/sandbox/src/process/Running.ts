/**
 * The programs that run in one sandbox.
 *
 * Invariants: after closing, no program starts, and a program that waits for a permit is killed when it gets one. Closing returns after the
 * last running program has ended, so the folder can be removed.
 */
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { Semaphore } from "effect/Semaphore"
import { Killed, type Outcome } from "../Outcome.ts"
import { Lost, type Operation, type Reason, SandboxError } from "../SandboxError.ts"

/** Registers how to stop a started program. The returned function is called when the program has ended. */
export type OnStart = (stop: () => void) => () => void

export interface Running {
  /** Runs an effect that takes no noticeable time. Fails as `Lost` once the sandbox is closed. */
  readonly whileOpen: <A>(
    operation: Operation,
    effect: () => Effect.Effect<A, SandboxError>
  ) => Effect.Effect<A, SandboxError>
  /** Runs a program once it has a permit. */
  readonly program: (
    operation: Operation,
    turns: Semaphore,
    start: (onStart: OnStart) => Effect.Effect<Outcome, Reason>
  ) => Effect.Effect<Outcome, SandboxError>
  /** Runs a process beside the programs. It needs no permit. */
  readonly process: (
    start: (onStart: OnStart) => Effect.Effect<Outcome, Reason>
  ) => Effect.Effect<Outcome, SandboxError>
}

const empty = new Uint8Array(0)

const neverStarted = Killed({ stdout: empty, stderr: empty, wallMillis: 0 })

/** Tracks the programs of a sandbox, and ends all of them when the scope closes. */
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
    (state): Running => {
      const failure = (operation: Operation) => (reason: Reason) => new SandboxError({ provider, operation, reason })
      const whileOpen: Running["whileOpen"] = (operation, effect) =>
        Effect.suspend(() =>
          state.isOpen ? effect() : Effect.fail(failure(operation)(new Lost({ detail: "its scope has closed" })))
        )
      const onStart: OnStart = (stop) => {
        state.stops.add(stop)
        if (!state.isOpen) stop()
        return () => {
          state.stops.delete(stop)
          if (!state.isOpen && state.stops.size === 0) state.onEmpty()
        }
      }
      return {
        whileOpen,
        program: (operation, turns, start) =>
          whileOpen(operation, () =>
            turns.withPermit(Effect.suspend(() =>
              state.isOpen ? start(onStart) : Effect.succeed(neverStarted)
            ))
              .pipe(Effect.mapError(failure(operation)))),
        process: (start) => whileOpen("start", () => Effect.mapError(start(onStart), failure("start")))
      }
    }
  )
