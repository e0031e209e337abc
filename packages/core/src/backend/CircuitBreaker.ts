/** Stops asking a backend that is down, and finds out when it is up again. */

export type Phase = "closed" | "open" | "half-open"

/** What an answer says of the backend: an error it gave itself is an answer, too. */
export type Outcome = "answered" | "unavailable" | "interrupted"

const threshold = 5
const firstPauseMillis = 1000
const longestPauseMillis = 30_000

export interface CircuitBreaker {
  readonly phase: () => Phase
  /** Milliseconds until one request may find out; 0 unless open. */
  readonly pauseMillis: () => number
  /** Lets one request through. */
  readonly halfOpen: () => void
  /** True where this opened it. */
  readonly settle: (outcome: Outcome, isProbe: boolean) => boolean
}

/** Opens after five requests in a row that met nobody, for a second, and for twice as long each time a probe fails. */
export const make = (): CircuitBreaker => {
  let phase: Phase = "closed"
  let failures = 0
  let trips = 0
  const open = () => {
    phase = "open"
    trips++
    return true
  }
  return {
    phase: () => phase,
    pauseMillis: () => phase === "open" ? Math.min(longestPauseMillis, firstPauseMillis * 2 ** (trips - 1)) : 0,
    halfOpen: () => {
      phase = "half-open"
    },
    settle: (outcome, isProbe) => {
      if (outcome === "interrupted") return false
      if (outcome === "unavailable") {
        failures++
        return isProbe || (phase === "closed" && failures >= threshold) ? open() : false
      }
      failures = 0
      if (phase === "closed" || !isProbe) return false
      phase = "closed"
      trips = 0
      return false
    }
  }
}
