/**
 * Graders decide the reward of an episode or of a group. A grader has a time limit. One that throws or hangs fails its member or its group as
 * `Ungraded`, and the failure policy decides; by default the run continues without them.
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

/** A grader threw an exception, or died. */
export class GraderThrew extends Schema.TaggedError<GraderThrew>()("GraderThrew", {
  detail: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `the grader threw: ${this.detail}`
  }
}

/** The reasons why there is no grade, beside the grader's own error. A rollout turns them into `Ungraded` failures. */
export type Ungraded = GraderTimedOut | GraderThrew

/** Whether a defect is a grader's own: an exception, or a time limit that it exceeded. */
export const isUngraded = (defect: unknown): defect is Ungraded =>
  defect instanceof GraderTimedOut || defect instanceof GraderThrew

/** The limit in force: a rollout provides its own `graderTimeout`. Default 10 minutes. */
export const GraderTimeout = Context.Reference<Duration.Input>("@effect-rl/core/env/Grader/GraderTimeout", {
  defaultValue: () => Duration.minutes(10)
})

/** Names what is graded, for the log. A rollout provides the group and the member. */
export const Graded = Context.Reference<string>("@effect-rl/core/env/Grader/Graded", {
  defaultValue: () => "an episode"
})

/** Time after which a grader that is still waited for is logged. */
const patience = Duration.seconds(30)

const logWhenSlow = Effect.flatMap(
  Graded,
  (graded) =>
    Effect.delay(Effect.logWarning(`waiting ${Duration.format(patience)} for the reward of ${graded}`), patience)
)

const timedOut = (duration: Duration.Input) =>
  new GraderTimedOut({ limit: Duration.format(Duration.fromInputUnsafe(duration)) })

const threw = (cause: unknown) => new GraderThrew({ detail: String(cause), cause })

/** Runs a grader within the limit in force. One that throws or takes longer dies with the reason. */
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

/** The verdict of a function that answers at once or with an effect. */
export const verdict = <A extends boolean | number, E, R>(
  grade: () => A | Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.catchDefect(Effect.sync(grade), (cause) => Effect.die(threw(cause))),
    (given) => isEffect(given) ? run(given) : Effect.succeed(given)
  )
