/**
 * The time limit of graders: of the rewards of a group, and of an environment that grades its own episode.
 *
 * @example
 * const grade = GraderTimeout.within(Effect.succeed({ reward: 1 }))
 * const bounded = Effect.provideService(grade, GraderTimeout.GraderTimeout, "2 minutes")
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A grader took longer than `graderTimeout`. */
export class GraderTimedOut extends Schema.TaggedError<GraderTimedOut>()("GraderTimedOut", { limit: Schema.String }) {
  override get message() {
    return `not graded within ${this.limit}: raise graderTimeout, or let onFailure skip what takes longer`
  }
}

/** The limit in force: a rollout provides its own `graderTimeout`. Unbounded unless provided. */
export const GraderTimeout = Context.Reference<Duration.Input | undefined>("@effect-rl/core/env/GraderTimeout", {
  defaultValue: () => undefined
})

/** Fails a grader of an environment that takes longer than the limit in force. */
export const within = <A, E, R>(grading: Effect.Effect<A, E, R>): Effect.Effect<A, E | GraderTimedOut, R> =>
  Effect.flatMap(GraderTimeout, (duration) => {
    if (duration === undefined) return grading
    const limit = Duration.format(Duration.fromInputUnsafe(duration))
    return Effect.timeoutOrElse(grading, { duration, orElse: () => Effect.fail(new GraderTimedOut({ limit })) })
  })
