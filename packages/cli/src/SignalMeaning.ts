/** What a signal to the process means, by the one before it. */

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

/** npm passes a Ctrl-C on to a process that has it from the terminal already: what comes this soon is one and the same. */
const sameSignal = 500

/** Undefined for a signal that is the same as the last. */
export const of = (last: Understood | undefined, { at, isAwaited, signal }: Received): Meaning | undefined => {
  const isSame = last !== undefined && at - last.at < sameSignal
  if (last?.meaning === "finish") return isSame ? undefined : "end at once"
  if (signal !== "SIGINT") return "finish"
  if (isSame) return undefined
  return isAwaited ? "awaited" : "finish"
}
