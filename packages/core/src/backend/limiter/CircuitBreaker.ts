/** Stops requests to a backend that is down, and probes until it is up again. */

export type Phase = "closed" | "open" | "half-open"

/** What a finished request says about the backend. An error that the backend itself returned counts as an answer. */
export type Outcome = "answered" | "unavailable" | "unknown"

const threshold = 5
const firstPauseMillis = 1000
const longestPauseMillis = 30_000

export interface CircuitBreaker {
  readonly phase: () => Phase
  /** How long the breaker stays open before one request may probe the backend. */
  readonly pauseMillis: () => number
  /** Records the end of a request; true if this opened the breaker. */
  readonly settle: (outcome: Outcome, isProbe: boolean, now: number) => boolean
  /** Lets one request through if the pause is over. */
  readonly wake: (now: number) => void
}

/**
 * A breaker that opens after five requests in a row found the backend unavailable. It stays open for one second at first, and twice as long
 * after each failed probe, up to 30 seconds.
 */
export const make = (): CircuitBreaker => {
  let phase: Phase = "closed"
  let failures = 0
  let trips = 0
  let openUntil = 0
  const pauseMillis = () => Math.min(longestPauseMillis, firstPauseMillis * 2 ** (trips - 1))
  const open = (now: number) => {
    phase = "open"
    trips++
    openUntil = now + pauseMillis()
    return true
  }
  return {
    phase: () => phase,
    pauseMillis,
    wake: (now) => {
      if (phase === "open" && now >= openUntil) phase = "half-open"
    },
    settle: (outcome, isProbe, now) => {
      if (outcome === "unknown") return false
      if (outcome === "unavailable") {
        failures++
        return isProbe || (phase === "closed" && failures >= threshold) ? open(now) : false
      }
      failures = 0
      if (phase === "closed" || !isProbe) return false
      phase = "closed"
      trips = 0
      return false
    }
  }
}
