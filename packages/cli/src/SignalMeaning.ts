/** What a signal means for the process. The meaning depends on the previous signal. */

export type Signal = "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGTERM"

/**
 * `awaited`: a part of the program waits for this Ctrl-C. `finish`: the program saves its work and ends. `end at once`: it ends without
 * saving.
 */
export type Meaning = "awaited" | "finish" | "end at once"

/** The last signal that had a meaning, and its time in milliseconds. */
export interface Understood {
  readonly meaning: Meaning
  readonly at: number
}

export interface Received {
  readonly signal: Signal
  readonly at: number
  /** Whether a part of the program waits for a Ctrl-C. */
  readonly isAwaited: boolean
}

/**
 * npm forwards a Ctrl-C that the process has already received from the terminal. A second signal within this many milliseconds is a
 * duplicate.
 */
const sameSignal = 500

/** The meaning of a signal; undefined for a duplicate of the last signal. */
export const of = (last: Understood | undefined, { at, isAwaited, signal }: Received): Meaning | undefined => {
  const isSame = last !== undefined && at - last.at < sameSignal
  if (last?.meaning === "finish") return isSame ? undefined : "end at once"
  if (signal !== "SIGINT") return "finish"
  if (isSame) return undefined
  return isAwaited ? "awaited" : "finish"
}
