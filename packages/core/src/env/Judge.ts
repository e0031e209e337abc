/**
 * What graders that ask a model have in common.
 *
 * @example
 * const verdict = Judge.call(judge.respond({ messages, key: "tone" }), Message.assistant("no verdict"))
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Metering } from "../backend/Metering.ts"

/** A judge answered with something that is no verdict. A group takes it as any failure of its grader. */
export class JudgeError extends Schema.TaggedError<JudgeError>()("JudgeError", {
  /** Which verdict was asked for. */
  key: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `the judge of "${this.key}" said ${this.found}, expected ${this.expected}`
  }
}

const longest = 200

/** Quotes the beginning of what a judge said. */
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

/** Verdicts that a group asks for at the same time unless said otherwise. */
export const defaultConcurrency = 16
