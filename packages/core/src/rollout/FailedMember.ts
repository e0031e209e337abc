/** The member whose failure ended a run, as an annotation of the cause; the environment's own error stays unchanged. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export interface Place {
  readonly iteration: number
  /** The group's key. */
  readonly group: string
  /** The member's index; absent if the group as a whole failed. */
  readonly member?: number
}

export class FailedMember extends Context.Service<FailedMember, Place>()("@effect-rl/core/rollout/FailedMember") {}

/** Annotates the cause of a failure with the place. */
export const at = (place: Place) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchCause(
    effect,
    (cause) => Effect.failCause(Cause.annotate(cause, Context.make(FailedMember, place)))
  )

/** The place in a cause's annotation; undefined if no member or group failed. */
export const of = (cause: Cause.Cause<unknown>): Place | undefined =>
  Context.getOrUndefined(Cause.annotations(cause), FailedMember)

/**
 * The place as text; iterations count from 1.
 *
 * @example
 * FailedMember.text({ iteration: 2, group: "sum-7", member: 1 }) // => `iteration 3, group "sum-7", member 1`
 */
export const text = ({ group, iteration, member }: Place): string =>
  `iteration ${iteration + 1}, group "${group}"${member === undefined ? "" : `, member ${member}`}`
