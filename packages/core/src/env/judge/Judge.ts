/**
 * The parts that graders which ask a model have in common.
 *
 * @example
 * const verdict = Judge.call(judge.respond({ messages, key: "tone" }), Message.assistant("no verdict"))
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Metering } from "../../backend/Metering.ts"

/** A judge's answer contains no verdict. A group treats it like any other failure of its grader. */
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

/** The error of an answer without a verdict, which quotes its beginning. */
export const unclear = (key: string, answer: string, expected: string): JudgeError => {
  const found = JSON.stringify(answer.length > longest ? `${answer.slice(0, longest)}…` : answer)
  return new JudgeError({ key, found, expected })
}

/**
 * Counts a verdict against the run's limit on the calls of judges; one that would exceed it waits for the run to end. `neutral` stands for
 * it in plans, which ask no judge.
 */
export const call = <A, E, R>(verdict: Effect.Effect<A, E, R>, neutral: NoInfer<A>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Metering, ({ judge }) => judge(verdict, neutral))

/** Verdicts that a group requests at the same time unless another number is given. */
export const defaultConcurrency = 16
