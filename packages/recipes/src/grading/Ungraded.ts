/** Handles failures of judging itself, such as a lost sandbox, which say nothing about the judged answer. */
import { Grader } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** Leaves the group member ungraded if judging fails, so the failure never becomes a reward. */
export const orElse = <A, E extends { readonly message: string }, R>(
  judging: Effect.Effect<A, E, R>
): Effect.Effect<A, never, R> =>
  Effect.catch(judging, (error) => Effect.die(new Grader.GraderThrew({ detail: error.message, cause: error })))
