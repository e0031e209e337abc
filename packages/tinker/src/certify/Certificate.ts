/**
 * The checks of a server and their outcomes.
 *
 * @example
 * const failures = (certificate: Certificate.Certificate) => Certificate.counts(certificate).failed
 */
import * as Schema from "effect/Schema"
import { Theme } from "./Check.ts"

export { Theme }

/** `absent`: the server reports that it lacks the feature under test. */
export const Outcome = Schema.Literals(["passed", "absent", "failed"])
export type Outcome = typeof Outcome.Type

export const Result = Schema.Struct({
  theme: Theme,
  check: Schema.String,
  why: Schema.String,
  outcome: Outcome,
  /** The finding; empty if the check passed without remarks. */
  detail: Schema.String
})
export type Result = typeof Result.Type

export const Certificate = Schema.Struct({
  server: Schema.String,
  model: Schema.String,
  /** When the last check ended. */
  time: Schema.DateTimeUtcFromString,
  results: Schema.Array(Result)
})
export type Certificate = typeof Certificate.Type

export interface Counts extends Readonly<Record<Outcome, number>> {}

export const counts = ({ results }: Pick<Certificate, "results">): Counts => {
  const of = (outcome: Outcome) => results.filter((one) => one.outcome === outcome).length
  return { passed: of("passed"), absent: of("absent"), failed: of("failed") }
}

/** Whether no check failed; absent features do not count as failures. */
export const isGood = (certificate: Pick<Certificate, "results">): boolean => counts(certificate).failed === 0
