/** The meaning of a signal to the process, which depends on the signal before it. */

export type Signal = "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGTERM"

/** A Ctrl-C for the part of the program that waits for it, the end of the program once its work is saved, or its end at once. */
export type Meaning = "awaited" | "finish" | "end at once"

/** A signal that meant something, and when it came, in milliseconds. */
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

/** npm passes on a Ctrl-C that the process has already received from the terminal: a second signal within this time is the same one. */
const sameSignal = 500

/** The meaning of a signal; undefined for a repetition of the last one. */
export const of = (last: Understood | undefined, { at, isAwaited, signal }: Received): Meaning | undefined => {
  const isSame = last !== undefined && at - last.at < sameSignal
  if (last?.meaning === "finish") return isSame ? undefined : "end at once"
  if (signal !== "SIGINT") return "finish"
  if (isSame) return undefined
  return isAwaited ? "awaited" : "finish"
}
