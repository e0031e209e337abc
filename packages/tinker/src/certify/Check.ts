/** One requirement for a Tinker server: a statement, its reason and its test. */
import type { MalformedBody } from "@effect-rl/agent/wire/Json"
import type { Tinker, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { RestClient } from "../client/RestClient.ts"
import type { WireError } from "../client/WireError.ts"
import type { RawRequests } from "./RawRequests.ts"

/** Themes, in the order in which a certificate lists them. */
export const Theme = Schema.Literals([
  "service",
  "sessions",
  "models",
  "adapters",
  "sampling",
  "seeds",
  "logprobs",
  "training",
  "optimizer",
  "losses",
  "gradients",
  "requests",
  "order",
  "repeats",
  "futures",
  "errors",
  "limits",
  "checkpoints",
  "archive",
  "chat"
])
export type Theme = typeof Theme.Type

/** The server does not behave as the check expects. */
export class Mismatch extends Schema.TaggedError<Mismatch>()("Mismatch", {
  expected: Schema.String,
  found: Schema.String
}) {
  override get message() {
    return `expected ${this.expected}, found ${this.found}`
  }
}

/** The server reports that it lacks the feature under test. */
export class Absent extends Schema.TaggedError<Absent>()("Absent", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

/** The ways in which a check fails to pass. */
export type Failure = Mismatch | Absent | TinkerError.TinkerError | WireError | MalformedBody

/** The clients that a check uses for its requests. */
export type Needs = Tinker.Tinker | RestClient | RawRequests | Scope.Scope

export interface Check {
  readonly theme: Theme
  /** The requirement, as a sentence that is unique within its theme. */
  readonly name: string
  /** What happens to clients if the requirement is violated. */
  readonly why: string
  /** Succeeds with a remark for the certificate, or without a value if there is none. */
  readonly run: Effect.Effect<string | void, Failure, Needs>
}

export const expect = (holds: boolean, expected: string, found: unknown): Effect.Effect<void, Mismatch> =>
  holds ? Effect.void : Effect.fail(new Mismatch({ expected, found: String(found) }))

export const absent = (detail: string) => Effect.fail(new Absent({ detail }))

const list = (values: ArrayLike<number>) =>
  `[${Array.from(values, (value) => Number(value.toPrecision(5))).join(", ")}]`

/** The largest absolute difference between two lists; NaN if their lengths differ. */
export const distance = (left: ArrayLike<number>, right: ArrayLike<number>): number =>
  left.length === right.length
    ? Array.from(left).reduce((most, value, at) => Math.max(most, Math.abs(value - (right[at] ?? NaN))), 0)
    : NaN

export const expectClose = (
  what: string,
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number
) => {
  const bound = Number(tolerance.toPrecision(2))
  return expect(distance(found, expected) <= tolerance, `${what} to be ${list(expected)} within ${bound}`, list(found))
}
