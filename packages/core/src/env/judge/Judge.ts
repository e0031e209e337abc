/**
 * Common parts of graders that ask a model.
 *
 * @example
 * const verdict = Judge.call(judge.respond({ messages, key: "tone" }), Message.assistant("no verdict"))
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Metering } from "../../backend/Metering.ts"

/** A judge's answer contains no verdict. It is handled like any other failure of a grader. */
export class JudgeError extends Schema.TaggedError<JudgeError>()("JudgeError", {
  /** The key of the verdict. */
  key: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `the judge of "${this.key}" said ${this.found}, expected ${this.expected}`
  }
}

const longest = 200

/** The error for an answer without a verdict. It quotes the beginning of the answer. */
export const unclear = (key: string, answer: string, expected: string): JudgeError => {
  const found = JSON.stringify(answer.length > longest ? `${answer.slice(0, longest)}…` : answer)
  return new JudgeError({ key, found, expected })
}

/**
 * Counts a verdict against the run's limit on judge calls. A call that would exceed the limit waits until the run ends. While a run is only
 * planned, no judge is asked, and the result is `neutral`.
 */
export const call = <A, E, R>(verdict: Effect.Effect<A, E, R>, neutral: NoInfer<A>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Metering, ({ judge }) => judge(verdict, neutral))

/** Default number of verdicts that a group requests at the same time. */
export const defaultConcurrency = 16
