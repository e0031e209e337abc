/** Checks of options: each requirement has one wording, and a violation becomes an `InvalidOption`. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { InvalidOption } from "./InvalidOption.ts"

/** A requirement, in words and as a predicate. */
export interface Requirement<in A> {
  readonly expected: string
  readonly accepts: (value: A) => boolean
}

/** A requirement for integers from `least` to `most`; without `most`, there is no upper bound. */
export const whole = (least: number, most: number = Infinity): Requirement<number> => ({
  expected: most === Infinity ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`,
  accepts: (value) => Number.isSafeInteger(value) && value >= least && value <= most
})

export interface Range {
  /** The smallest accepted value. */
  readonly least?: number
  /** A lower bound that is not itself accepted. */
  readonly above?: number
  /** The largest accepted value. */
  readonly most?: number
}

const inWords = ({ above, least, most }: Range) => {
  const lowest = least === undefined ? "" : most === undefined ? ` of at least ${least}` : ` from ${least}`
  const lower = above === undefined ? lowest : ` above ${above}`
  if (most !== undefined) return `a number${lower} up to ${most}`
  return lower === "" ? "a finite number" : `a number${lower}`
}

/** A requirement for finite numbers within a range. */
export const number = (range: Range = {}): Requirement<number> => {
  const { above = -Infinity, least = -Infinity, most = Infinity } = range
  return {
    expected: inWords(range),
    accepts: (value) => Number.isFinite(value) && value >= least && value > above && value <= most
  }
}

/** A requirement for durations greater than zero. */
export const time: Requirement<Duration.Input> = {
  expected: "a time above 0, such as \"2 minutes\"",
  accepts: (value) => {
    const duration = Duration.fromInput(value)
    return duration._tag === "Some" && Duration.isGreaterThan(duration.value, Duration.zero)
  }
}

/** A requirement for one of the given texts. */
export const oneOf = (choices: ReadonlyArray<string>): Requirement<string> => ({
  expected: choices.map((choice) => JSON.stringify(choice)).join(" or "),
  accepts: (value) => choices.includes(value)
})

/** The result of checking an option. */
export interface Check {
  readonly field: string
  readonly found: unknown
  readonly expected: string
  readonly holds: boolean
}

/** Checks an option; `undefined` is accepted. */
export const option = <A>(field: string, found: A | undefined, { accepts, expected }: Requirement<A>): Check => ({
  field,
  found,
  expected,
  holds: found === undefined || accepts(found)
})

/** The error for the first violated check; undefined if all hold. */
export const broken = (checks: ReadonlyArray<Check>): InvalidOption | undefined => {
  const first = checks.find(({ holds }) => !holds)
  return first && new InvalidOption({ field: first.field, found: String(first.found), expected: first.expected })
}

/** Fails with the first violated check; succeeds if all hold. */
export const all = (...checks: ReadonlyArray<Check>): Effect.Effect<void, InvalidOption> => {
  const invalid = broken(checks)
  return invalid === undefined ? Effect.void : Effect.fail(invalid)
}
