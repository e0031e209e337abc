/** The outcome of a program in a sandbox. */
import * as Data from "effect/Data"

/** What every outcome has, however the program ended. */
export interface Ended {
  /** At most as many bytes as the limit on output. */
  readonly stdout: Uint8Array
  /** At most as many bytes as the limit on output. */
  readonly stderr: Uint8Array
  /** Time that the program ran, in milliseconds; the wait for its turn is not part of it. */
  readonly wallMillis: number
}

/**
 * How a program ended. All of these are verdicts about the program; a failure of the place is a `SandboxError`.
 *
 * - `Exited`: it ended by itself, with an exit code. A command that does not exist exits with 127.
 * - `Signalled`: a signal ended it that it raised itself, such as `SIGSEGV`.
 * - `TimedOut`: it was killed at a limit on time.
 * - `OutOfMemory`: it was killed, or ended, at the limit on memory. A provider that cannot tell says `Exited` or `Signalled`.
 * - `OutputLimit`: it was killed because it wrote more than it may.
 * - `Killed`: it was killed from outside, because the scope of its sandbox closed.
 */
export type Outcome = Data.TaggedEnum<{
  Exited: Ended & { readonly code: number }
  Signalled: Ended & { readonly signal: string }
  TimedOut: Ended & { readonly limit: "wall" | "cpu" }
  OutOfMemory: Ended
  OutputLimit: Ended & { readonly of: "stdout" | "stderr" | "disk" }
  Killed: Ended
}>

/**
 * Constructors and a matcher of outcomes.
 *
 * @example
 * const verdict = (outcome: Outcome.Outcome) =>
 *   Outcome.is("Exited")(outcome) && outcome.code === 0 ? Outcome.text(outcome.stdout) : outcome._tag
 */
export const { $is: is, $match: match, Exited, Killed, OutOfMemory, OutputLimit, Signalled, TimedOut } = Data
  .taggedEnum<Outcome>()

const decoder = new TextDecoder()

/** Bytes of an output as text; what is not UTF-8 becomes U+FFFD. */
export const text = (bytes: Uint8Array): string => decoder.decode(bytes)
