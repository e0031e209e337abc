/** An environment was asked to be what none can be. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Limits from "./Limits.ts"

export class EnvOptionError extends Schema.TaggedError<EnvOptionError>()("EnvOptionError", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}

/** What an option must be, and whether it is. */
export interface Rule {
  readonly field: string
  readonly found: unknown
  readonly expected: string
  readonly holds: boolean
}

/** A rule for a number that may be left out. */
const number = (expected: string, holds: (value: number) => boolean) => (field: string, found?: number): Rule => ({
  field,
  found,
  expected,
  holds: found === undefined || holds(found)
})

export const count = number("a whole number from 0 on", (value) => Number.isSafeInteger(value) && value >= 0)
export const positive = number("a whole number from 1 on", (value) => Number.isSafeInteger(value) && value >= 1)
export const cost = number("a finite number from 0 on", (value) => Number.isFinite(value) && value >= 0)
export const finite = number("a finite number", Number.isFinite)

/** A rule for a time that may be left out. */
export const time = (field: string, found?: Duration.Input): Rule => ({
  field,
  found,
  expected: Limits.expectedTime,
  holds: found === undefined || Limits.isTime(found)
})

/** Fails with the first rule that does not hold. */
export const check = (rules: ReadonlyArray<Rule>): Effect.Effect<void, EnvOptionError> => {
  const broken = rules.find(({ holds }) => !holds)
  if (broken === undefined) return Effect.void
  const { expected, field, found } = broken
  return Effect.fail(new EnvOptionError({ field, found: String(found), expected }))
}
