/** Error messages of failed commands. */
import { FailedMember } from "@effect-rl/core/records"
import { FileFailure } from "@effect-rl/files"
import * as Cause from "effect/Cause"
import * as CliError from "effect/cli/CliError"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as PlatformError from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import * as Untrusted from "./terminal/Untrusted.ts"

const ofFile = (error: PlatformError.PlatformError) => {
  const { reason } = error
  const file = reason._tag === "BadArgument" ? undefined : reason.pathOrDescriptor
  return FileFailure.describe(String(file ?? "a file"), error)
}

/**
 * The message of any error, whether effect-rl defines its class or not.
 *
 * @example
 * Rl.run({ model, dataset }).pipe(Stream.runDrain, Effect.catch((error) => Console.error(Failure.message(error))))
 */
export const message = (error: unknown): string => {
  if (error instanceof PlatformError.PlatformError) return ofFile(error)
  return Predicate.hasProperty(error, "message") && Predicate.isString(error.message) ? error.message : String(error)
}

/** The message of a cause's first failure, on one line. */
export const causeMessage = (cause: Cause.Cause<unknown>): string => message(Cause.squash(cause)).split("\n").join(" ")

/** Prepends the place at which a rollout failed, unless the message names it. */
const placed = (cause: Cause.Cause<unknown>, text: string): string => {
  const where = FailedMember.of(cause)
  return where === undefined || text.includes(`group "${where.group}"`) ? text : `${FailedMember.text(where)}: ${text}`
}

/** The lines of an error report. Only a bug in effect-rl includes a stack trace; an interruption has no lines. */
export const lines = (cause: Cause.Cause<unknown>): ReadonlyArray<string> => {
  if (Cause.hasInterruptsOnly(cause)) return []
  const error = Cause.squash(cause)
  if (CliError.isCliError(error) && error._tag === "ShowHelp") return []
  return Cause.hasDies(cause)
    ? ["this is a bug in effect-rl:", Cause.pretty(cause)]
    : [`error: ${placed(cause, message(error))}`]
}

/** Writes an effect's failure to standard error, then fails with the same error. */
export const report = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapCause(
    effect,
    (cause) => Effect.forEach(lines(cause), (line) => Console.error(Untrusted.showLines(line)), { discard: true })
  )
