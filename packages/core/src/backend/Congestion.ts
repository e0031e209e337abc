/** How many requests a backend takes at the same time, learned from how it answers. */

/** What was under way when a request was sent. */
export interface Sent {
  readonly at: number
  /** Permits in use, its own among them. */
  readonly load: number
  /** Decreases before it was sent: what it meets says nothing of a later limit. */
  readonly epoch: number
  /** Whether it was the limit that held the load where it was. */
  readonly isLimited: boolean
}

export interface Congestion {
  readonly limit: () => number
  readonly epoch: () => number
  /** `tokens` of the longest sequence, which is what took the time. */
  readonly answered: (sent: Sent, permits: number, millis: number, tokens: number) => void
  /** True where it was answered like this although nothing went through since the last decrease. */
  readonly rejected: (sent: Sent) => boolean
}

const decrease = 0.9
/** Answers before the limit that was too much last time is tried again: one in so many may be rejected. */
const patience = 256
const smallestWindow = 16
const slower = 1.5
const leastGain = 0.05
/** Share of the additional load that must come back as throughput. */
const elasticity = 0.25

/** Answers of about one round trip of everything under way, and their sums. */
interface Window {
  readonly size: number
  readonly answers: number
  readonly millis: number
  readonly tokens: number
  readonly load: number
}

const empty = (limit: number): Window => ({
  size: Math.max(smallestWindow, limit),
  answers: 0,
  millis: 0,
  tokens: 0,
  load: 0
})

/** The least load at which nearly the best throughput was seen. */
interface Knee {
  readonly load: number
  readonly millisPerToken: number
}

const throughput = ({ load, millisPerToken }: Knee) => load / millisPerToken

const pays = (seen: Knee, knee: Knee) =>
  throughput(seen) / throughput(knee) - 1 >= Math.max(leastGain, elasticity * (seen.load / knee.load - 1))

/**
 * Additive increase, multiplicative decrease. Doubles each round trip until something was too much; from then on comes back
 * quickly to just below that, stays, and tries beyond now and then. Too much is a rejection, and latency that grew while
 * throughput did not: a batching server that is slower per request and faster in all is not too busy.
 */
export const make = (start: number): Congestion => {
  let limit = start
  let ceiling = Infinity
  let epoch = 0
  let answersOfEpoch = 0
  let window = empty(start)
  let knee: Knee | undefined

  const tooMuch = (at: number, next: number) => {
    ceiling = at
    limit = Math.max(1, next)
    epoch++
    answersOfEpoch = 0
    window = empty(limit)
  }

  const increase = () => {
    const whole = Math.floor(limit)
    if (ceiling === Infinity) return 1
    const below = ceiling - 1 - whole
    if (below > 0) return Math.max(1, below / 2) / whole
    return 1 / (below === 0 ? Math.max(whole, patience) : whole)
  }

  const judge = () => {
    const seen: Knee = { load: window.load / window.answers, millisPerToken: window.millis / window.tokens }
    window = empty(limit)
    if (knee === undefined || seen.load < decrease * knee.load || pays(seen, knee)) {
      knee = seen
      if (seen.load > ceiling) ceiling = Infinity
    } else if (seen.millisPerToken > slower * knee.millisPerToken) {
      tooMuch(Math.ceil(1.2 * knee.load), Math.min(decrease * seen.load, knee.load))
    }
  }

  return {
    limit: () => Math.floor(limit),
    epoch: () => epoch,
    answered: (sent, permits, millis, tokens) => {
      if (sent.epoch === epoch) answersOfEpoch++
      if (sent.isLimited) limit += permits * increase()
      if (tokens === 0 || sent.epoch !== epoch) return
      window = {
        ...window,
        answers: window.answers + permits,
        millis: window.millis + permits * millis,
        tokens: window.tokens + permits * tokens,
        load: window.load + permits * sent.load
      }
      if (window.answers >= window.size) judge()
    },
    rejected: (sent) => {
      if (sent.epoch !== epoch) return false
      const isRepeated = epoch > 0 && answersOfEpoch === 0
      const load = Math.min(sent.load, Math.floor(limit))
      tooMuch(load, Math.min(load - 1, decrease * load))
      return isRepeated
    }
  }
}
