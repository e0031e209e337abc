/** One thing a server should do for our client, and how it is told that it does not. */
import type { Tinker, TinkerError } from "@effect-rl/core"
import type { RestClient } from "@effect-rl/tinker"
import { Cause, Effect, Exit, Schema, type Scope } from "effect"

export class Mismatch extends Schema.TaggedError<Mismatch>()("Mismatch", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

type Failure = Mismatch | TinkerError.TinkerError

/** Succeeds with what is to be said of it: `passed`, or how it was refused. */
export interface Check {
  readonly name: string
  readonly run: Effect.Effect<string | void, Failure, Tinker.Tinker | RestClient.RestClient | Scope.Scope>
}

export const check = (name: string, run: Check["run"]): Check => ({ name, run })

export const expect = (holds: boolean, detail: string): Effect.Effect<void, Mismatch> =>
  holds ? Effect.void : Effect.fail(new Mismatch({ detail }))

/** Largest difference of two lists; NaN where one is longer. */
export const distance = (left: ArrayLike<number>, right: ArrayLike<number>) =>
  left.length === right.length
    ? Array.from(left).reduce((most, value, at) => Math.max(most, Math.abs(value - (right[at] ?? NaN))), 0)
    : NaN

export const close = (what: string, found: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-4) =>
  expect(distance(found, expected) <= tolerance, `${what} are ${Array.from(found)}, expected ${Array.from(expected)}`)

type Tag = TinkerError.Reason["_tag"]

/** Works, or is refused for such a reason before anything was done. */
export const orRefused = <R>(self: Effect.Effect<unknown, Failure, R>, ...tags: ReadonlyArray<Tag>) =>
  self.pipe(
    Effect.as("passed"),
    Effect.catchTag("TinkerError", (error) =>
      tags.includes(error.reason._tag)
        ? Effect.succeed(`refused, ${error.reason._tag}: ${error.reason.message}`)
        : Effect.fail(error))
  )

/** Is refused for such a reason. */
export const refused = <R>(self: Effect.Effect<unknown, Failure, R>, ...tags: ReadonlyArray<Tag>) =>
  Effect.flatMap(Effect.exit(self), (exit) => {
    const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
    const tag = error?._tag === "TinkerError" ? error.reason._tag : "nothing"
    return expect(
      tags.some((one) => one === tag),
      `refused for ${tag}, expected ${tags.join(" or ")}: ${error?.message}`
    )
  })

/** How it went; nothing waits longer than two minutes. */
export const outcome = ({ name, run }: Check) =>
  run.pipe(
    Effect.scoped,
    Effect.timeout("2 minutes"),
    Effect.map((said) => ({ name, outcome: said ?? "passed", isFailed: false })),
    Effect.catchCause((cause) =>
      Effect.succeed({ name, outcome: `failed: ${Cause.pretty(cause).split("\n")[0] ?? ""}`, isFailed: true })
    )
  )
