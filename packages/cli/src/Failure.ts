/** The message of a failed command. */
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
 * The message of an error, ours or not.
 *
 * @example
 * Rl.run({ model, dataset }).pipe(Stream.runDrain, Effect.catch((error) => Console.error(Failure.message(error))))
 */
export const message = (error: unknown): string => {
  if (error instanceof PlatformError.PlatformError) return ofFile(error)
  return Predicate.hasProperty(error, "message") && Predicate.isString(error.message) ? error.message : String(error)
}

/** The first failure, in one line. */
export const causeMessage = (cause: Cause.Cause<unknown>): string => message(Cause.squash(cause)).split("\n").join(" ")

/** Where a rollout failed; the message may name it already. */
const placed = (cause: Cause.Cause<unknown>, text: string): string => {
  const where = FailedMember.of(cause)
  return where === undefined || text.includes(`group "${where.group}"`) ? text : `${FailedMember.text(where)}: ${text}`
}

/** What went wrong, without a stack unless it is a bug of ours; empty where a command was only interrupted. */
export const lines = (cause: Cause.Cause<unknown>): ReadonlyArray<string> => {
  if (Cause.hasInterruptsOnly(cause)) return []
  const error = Cause.squash(cause)
  if (CliError.isCliError(error) && error._tag === "ShowHelp") return []
  return Cause.hasDies(cause)
    ? ["this is a bug in effect-rl:", Cause.pretty(cause)]
    : [`error: ${placed(cause, message(error))}`]
}

/** Writes what went wrong to standard error; fails as before. */
export const report = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapCause(
    effect,
    (cause) => Effect.forEach(lines(cause), (line) => Console.error(Untrusted.showLines(line)), { discard: true })
  )
