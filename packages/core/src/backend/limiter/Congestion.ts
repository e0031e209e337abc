/** Learns from a backend's answers how many requests it can take at the same time. */

/** The state of the limiter when a request was sent. */
export interface Sent {
  readonly at: number
  /** Permits in use, including those of this request. */
  readonly load: number
  /** The number of decreases before the request was sent. The request's outcome says nothing about the limit after a later decrease. */
  readonly epoch: number
  /** Whether the limit kept more requests from being sent. */
  readonly isLimited: boolean
}

export interface Congestion {
  readonly limit: () => number
  readonly epoch: () => number
  /** Records an answer. `tokens` is the length of the longest sequence, which determines the time. */
  readonly answered: (sent: Sent, permits: number, millis: number, tokens: number) => void
  /** Records a rejection. True if the request was sent after the last decrease and no request sent since that decrease has been answered. */
  readonly rejected: (sent: Sent) => boolean
}

const decrease = 0.9
/** Number of answers before the limiter tries a limit again that was too high. At most one request in this many is therefore rejected. */
const patience = 256
const smallestWindow = 16
const slower = 1.5
const leastGain = 0.05
/** Share of the additional load that must appear as additional throughput. */
const elasticity = 0.25

/** Sums over the answers of about one round trip. */
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

/** The lowest load that reached nearly the best throughput. */
interface Knee {
  readonly load: number
  readonly millisPerToken: number
}

const throughput = ({ load, millisPerToken }: Knee) => load / millisPerToken

const pays = (seen: Knee, knee: Knee) =>
  throughput(seen) / throughput(knee) - 1 >= Math.max(leastGain, elasticity * (seen.load / knee.load - 1))

/**
 * Additive increase, multiplicative decrease. The limit doubles each round trip until it is too high, returns quickly to just below that
 * point, stays there, and occasionally tries a higher value. A limit is too high if a request is rejected, or if latency grows while
 * throughput does not. A batching server that is slower per request but faster in total is not overloaded.
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
