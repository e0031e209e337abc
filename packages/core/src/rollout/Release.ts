/** The release of the resources that a group and its members acquired. */
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { ReleaseTimedOut, RolloutError } from "./RolloutError.ts"

/** How a group releases. */
export interface Release {
  readonly group: string
  /** Longest time for the resources of one scope. */
  readonly timeout: Duration.Duration
  /** Whether a release that dies or hangs aborts the group, as a defect does; otherwise the group's result stands. */
  readonly aborts: boolean
}

const late = ({ group, timeout }: Release, member: number) =>
  Effect.die(new RolloutError({ group, member, reason: new ReleaseTimedOut({ limit: Duration.format(timeout) }) }))

/** Finalizers cannot be interrupted, so they run in a fiber of their own that is not waited for beyond the timeout. */
const bounded = (scope: Scope.Closeable, exit: Exit.Exit<unknown, unknown>, release: Release, member: number) =>
  Effect.suspend(() => {
    const finalizers = Scope.closeUnsafe(scope, exit)
    if (finalizers === undefined) return Effect.void
    const started = Effect.forkDetach(finalizers, { startImmediately: true, uninterruptible: true })
    return Effect.flatMap(started, (fiber) =>
      fiber.pollUnsafe() ?? Fiber.await(fiber).pipe(
        Effect.timeoutOrElse({ duration: release.timeout, orElse: () => late(release, member) }),
        Effect.flatten
      ))
  })

/** A failure to release never hides an earlier failure: it is then only logged. */
export const close = (
  scope: Scope.Closeable,
  exit: Exit.Exit<unknown, unknown>,
  release: Release,
  member: number
): Effect.Effect<void> =>
  Effect.catchCause(
    bounded(scope, exit, release, member),
    (cause: Cause.Cause<never>) =>
      release.aborts && Exit.isSuccess(exit)
        ? Effect.failCause(cause)
        : Effect.logError("what an environment acquired was not released", cause)
  )

/** A scope that closes with its parent, within a timeout of its own. */
export const childScope = (parent: Scope.Scope, release: Release, member: number) =>
  Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    return Effect.as(Scope.addFinalizerExit(parent, (exit) => close(scope, exit, release, member)), scope)
  })

/** Runs in a child scope that closes at once where this fails. */
export const inChildScope = <A, E, R>(
  parent: Scope.Scope,
  release: Release,
  member: number,
  effect: Effect.Effect<A, E, R>
) =>
  Effect.flatMap(childScope(parent, release, member), (scope) =>
    effect.pipe(
      Scope.provide(scope),
      Effect.onExit((exit) => Exit.isFailure(exit) ? close(scope, exit, release, member) : Effect.void)
    ))

/**
 * An effect that is interrupted while it is uninterruptible, such as in the middle of an acquisition, is waited for no longer than a
 * release. What it acquires afterwards is released at once, because its scope is closed.
 */
export const abandonable = <A, E, R>(effect: Effect.Effect<A, E, R>, release: Release, member: number) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkDetach(effect, { startImmediately: true }),
      (fiber) =>
        Effect.onInterrupt(restore(Fiber.join(fiber)), () =>
          Fiber.interrupt(fiber).pipe(
            Effect.timeoutOrElse({ duration: release.timeout, orElse: () => late(release, member) }),
            Effect.catchCause((cause) => Effect.logError("what could not be interrupted goes on by itself", cause))
          ))
    )
  )
