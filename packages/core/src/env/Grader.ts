/**
 * Runs the graders that decide the reward of an episode or of a group. Every grader has a time limit. If a grader throws or exceeds the
 * limit, its member or group fails as `Ungraded` and the failure policy applies; by default the run continues without it.
 *
 * @example
 * const grade = Grader.run(Effect.succeed({ reward: 1 }))
 * const bounded = Effect.provideService(grade, Grader.GraderTimeout, "2 minutes")
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"

/** A grader took longer than `graderTimeout`. */
export class GraderTimedOut extends Schema.TaggedError<GraderTimedOut>()("GraderTimedOut", { limit: Schema.String }) {
  override get message() {
    return `not graded within ${this.limit}: raise graderTimeout, or bound what the grader waits for`
  }
}

/** A grader threw an exception or died. */
export class GraderThrew extends Schema.TaggedError<GraderThrew>()("GraderThrew", {
  detail: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `the grader threw: ${this.detail}`
  }
}

/** Reasons for a missing grade other than the grader's own error. A rollout turns them into `Ungraded` failures. */
export type Ungraded = GraderTimedOut | GraderThrew

/** Whether a defect means that a grader threw or exceeded its time limit. */
export const isUngraded = (defect: unknown): defect is Ungraded =>
  defect instanceof GraderTimedOut || defect instanceof GraderThrew

/** The grader time limit in effect. A rollout provides its `graderTimeout`. Default: 10 minutes. */
export const GraderTimeout = Context.Reference<Duration.Input>("@effect-rl/core/env/Grader/GraderTimeout", {
  defaultValue: () => Duration.minutes(10)
})

/** Names the graded member or group in log messages. A rollout provides it. */
export const Graded = Context.Reference<string>("@effect-rl/core/env/Grader/Graded", {
  defaultValue: () => "an episode"
})

/** A grader that is still running after this time is logged. */
const patience = Duration.seconds(30)

const logWhenSlow = Effect.flatMap(
  Graded,
  (graded) =>
    Effect.delay(Effect.logWarning(`waiting ${Duration.format(patience)} for the reward of ${graded}`), patience)
)

const timedOut = (duration: Duration.Input) =>
  new GraderTimedOut({ limit: Duration.format(Duration.fromInputUnsafe(duration)) })

const threw = (cause: unknown) => new GraderThrew({ detail: String(cause), cause })

/** Runs a grader within the time limit. Dies with `GraderThrew` or `GraderTimedOut` if it throws or takes longer. */
export const run = <A, E, R>(grading: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const duration = yield* GraderTimeout
    const slow = yield* Effect.forkChild(logWhenSlow)
    return yield* grading.pipe(
      Effect.catchDefect((cause) => Effect.die(isUngraded(cause) ? cause : threw(cause))),
      Effect.timeoutOrElse({ duration, orElse: () => Effect.die(timedOut(duration)) }),
      Effect.ensuring(Fiber.interrupt(slow))
    )
  })

const isEffect = <A, E, R>(given: A | Effect.Effect<A, E, R>): given is Effect.Effect<A, E, R> => Effect.isEffect(given)

/** Calls a check that returns its verdict directly or as an effect, which runs as in `run`. Dies with `GraderThrew` if the call throws. */
export const verdict = <A extends boolean | number, E, R>(
  grade: () => A | Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.catchDefect(Effect.sync(grade), (cause) => Effect.die(threw(cause))),
    (given) => isEffect(given) ? run(given) : Effect.succeed(given)
  )
