/** What graders that ask a model have in common. */
import * as Schema from "effect/Schema"

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

/** Verdicts that a group asks for at the same time unless said otherwise. */
export const defaultConcurrency = 16
