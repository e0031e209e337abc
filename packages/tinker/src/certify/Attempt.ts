/** Runs one check. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Outcome, Result } from "./Certificate.ts"
import { type Check, Mismatch, type Needs } from "./Check.ts"

/** Time limit for one check, long enough for slow services. */
export const patience = Duration.minutes(2)

const tooSlow = new Mismatch({ expected: `an end within ${Duration.format(patience)}`, found: "none" })

type Ended = readonly [outcome: Outcome, detail: string]

const message = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

/**
 * Runs a check for at most two minutes. Never fails: a feature that the server lacks gives `absent`; any other error, a
 * defect or a timeout gives `failed`.
 */
export const outcome = ({ name, run, theme, why }: Check): Effect.Effect<Result, never, Exclude<Needs, Scope.Scope>> =>
  run.pipe(
    Effect.scoped,
    Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(tooSlow) }),
    Effect.map((found): Ended => ["passed", found ?? ""]),
    Effect.catchIf(
      (error) => error._tag === "Absent" || (error._tag === "TinkerError" && error.reason._tag === "Unsupported"),
      (error): Effect.Effect<Ended> => Effect.succeed(["absent", error.message])
    ),
    Effect.catchCause((cause): Effect.Effect<Ended> =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.succeed(["failed", message(cause)])
    ),
    Effect.map(([outcome, detail]) => ({ theme, check: name, why, outcome, detail }))
  )
