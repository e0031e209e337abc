/** The failure of a credit rule or of an estimator, which may be a user's. */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

/** A credit or an estimator threw, or gave advantages that no update can train on. */
export class CreditError extends Schema.TaggedError<CreditError>()("CreditError", {
  /** The kind and the name of the rule, such as `estimator "late"`. */
  rule: Schema.String,
  detail: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `${this.rule} ${this.detail}`
  }
}

/** The file and line of the first frame of a stack. */
const lineOf = (stack: string) => /^\s+at .*?([^\\/\s(]+:\d+):\d+\)?$/m.exec(stack)?.[1]

const thrown = (cause: unknown) => {
  const line = Predicate.isError(cause) ? lineOf(cause.stack ?? "") : undefined
  return line === undefined ? String(cause) : `${String(cause)} (${line})`
}

/** The failure for a thrown value; a thrown `CreditError` itself. `place` says what the rule was computing. */
export const fromThrown = (rule: string, place: string) => (cause: unknown): CreditError =>
  cause instanceof CreditError ? cause : new CreditError({ rule, detail: `${place}: ${thrown(cause)}`, cause })
