/** Contract cases, each of which checks one rule of the port, and the error of a backend that breaks a rule. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Tinker } from "../../backend/Tinker.ts"
import { Reason, type TinkerError } from "../../backend/TinkerError.ts"

/** The backend broke a rule of the port. */
export class ContractViolation extends Schema.TaggedError<ContractViolation>()("ContractViolation", {
  case: Schema.String,
  expected: Schema.String,
  found: Schema.String,
  /** Why the request failed; absent if it succeeded with a wrong result. */
  reason: Schema.optionalKey(Reason)
}) {
  override get message() {
    return `${this.case}: expected ${this.expected}, found ${this.found}`
  }
}

/** The difference from the expectation; the case adds its name later. */
export class Mismatch extends Schema.TaggedError<Mismatch>()("Mismatch", {
  expected: Schema.String,
  found: Schema.String
}) {}

/** The errors of a case's body. */
export type Failure = Mismatch | TinkerError

/** The result of a case about a capability that the backend does not claim. */
export const inapplicable = "inapplicable"

/** Whether the backend keeps the rule, or does not claim the capability that the rule is about. */
export type Outcome = "kept" | typeof inapplicable

export interface Case {
  readonly name: string
  readonly check: Effect.Effect<Outcome, ContractViolation, Tinker>
}

/** Makes a case that passes if its body succeeds. An unexpected backend failure breaks the rule. */
export const make = (
  name: string,
  body: Effect.Effect<unknown, Failure, Tinker | Scope.Scope>
): Case => ({
  name,
  check: body.pipe(
    Effect.scoped,
    Effect.map((found): Outcome => found === inapplicable ? inapplicable : "kept"),
    Effect.mapError((error) =>
      error._tag === "Mismatch"
        ? new ContractViolation({ case: name, expected: error.expected, found: error.found })
        : new ContractViolation({
          case: name,
          expected: "the backend to accept the request",
          found: error.message,
          reason: error.reason
        })
    )
  )
})

export const expect = (holds: boolean, expected: string, found: unknown): Effect.Effect<void, Mismatch> =>
  holds ? Effect.void : Effect.fail(new Mismatch({ expected, found: String(found) }))

export const expectEqual = (what: string, found: string | number, expected: string | number) =>
  expect(found === expected, `${what} to be ${expected}`, found)

const list = (values: ArrayLike<number>) => `[${Array.from(values).join(", ")}]`

export const expectTokens = (what: string, found: ArrayLike<number>, expected: ArrayLike<number>) =>
  expect(list(found) === list(expected), `${what} to be ${list(expected)}`, list(found))

const distance = (left: ArrayLike<number>, right: ArrayLike<number>) =>
  Array.from(left).reduce((far, value, index) => {
    const other = right[index] ?? NaN
    return Math.max(far, Number.isNaN(value) && Number.isNaN(other) ? 0 : Math.abs(value - other))
  }, left.length === right.length ? 0 : Infinity)

/** The maximum rounding difference between two ways to compute the same number. */
export const tolerance = 0.01

/**
 * A minimum difference that counts as a change. It exceeds `tolerance`, and one training step with `Fixture.learningRate` changes more than
 * this.
 */
const change = 0.02

export const expectClose = (what: string, found: ArrayLike<number>, expected: ArrayLike<number>) =>
  expect(distance(found, expected) <= tolerance, `${what} to be ${list(expected)} within ${tolerance}`, list(found))

/** The fraction of a change by which two ways to make it may differ, because backends may compute in half precision. */
const rounding = 0.05

/** Expects values that have changed from `before` as much as the expected ones. */
export const expectSameChange = (
  what: string,
  before: ArrayLike<number>,
  found: ArrayLike<number>,
  expected: ArrayLike<number>
) => {
  const most = tolerance + rounding * distance(expected, before)
  return expect(distance(found, expected) <= most, `${what} to be ${list(expected)} within ${most}`, list(found))
}

export const expectDifferent = (what: string, found: ArrayLike<number>, other: ArrayLike<number>) =>
  expect(distance(found, other) > change, `${what} to differ from ${list(other)} by more than ${change}`, list(found))

const spelled = (text: string) => text.replaceAll("_", "").toLowerCase()

/** Expects a failure with the given reason whose message names the field, if given. Case and underscores are ignored. */
export const expectFailure = <R>(
  self: Effect.Effect<unknown, TinkerError, R>,
  reason: Reason["_tag"],
  field = ""
): Effect.Effect<void, Mismatch, R> =>
  Effect.matchEffect(self, {
    onSuccess: () => Effect.fail(new Mismatch({ expected: `failure as ${reason}`, found: "success" })),
    onFailure: (error) =>
      expect(
        error.reason._tag === reason && spelled(error.reason.message).includes(spelled(field)),
        field === "" ? `failure as ${reason}` : `failure as ${reason} that names ${field}`,
        `${error.reason._tag}: ${error.reason.message}`
      )
  })
