/** The outcome of a program that ran in a sandbox. */
import * as Data from "effect/Data"

/** What every outcome contains, however the program ended. */
export interface Ended {
  /** Standard output, cut at the limit on output. */
  readonly stdout: Uint8Array
  /** Standard error, cut at the limit on output. */
  readonly stderr: Uint8Array
  /** How long the program ran, in milliseconds, without the wait for a permit. */
  readonly wallMillis: number
}

/**
 * How a program ended. Every outcome says something about the program; a failure of the sandbox is a `SandboxError` instead.
 *
 * - `Exited`: it exited by itself with an exit code. A command that does not exist exits with 127.
 * - `Signalled`: it was ended by a signal that it caused itself, such as `SIGSEGV`.
 * - `TimedOut`: it was killed at a time limit.
 * - `OutOfMemory`: it was killed, or exited, at the memory limit. A provider that cannot detect this reports `Exited` or `Signalled`.
 * - `OutputLimit`: it was killed because it wrote more than the limit on output or disk.
 * - `Killed`: it was killed because the scope of its sandbox closed.
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
 * Constructors, type guards and a matcher for outcomes.
 *
 * @example
 * const verdict = (outcome: Outcome.Outcome) =>
 *   Outcome.is("Exited")(outcome) && outcome.code === 0 ? Outcome.text(outcome.stdout) : outcome._tag
 */
export const { $is: is, $match: match, Exited, Killed, OutOfMemory, OutputLimit, Signalled, TimedOut } = Data
  .taggedEnum<Outcome>()

const decoder = new TextDecoder()

/** Bytes of an output as text. Invalid UTF-8 becomes U+FFFD. */
export const text = (bytes: Uint8Array): string => decoder.decode(bytes)
