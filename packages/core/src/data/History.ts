/**
 * What a run knows of its groups when it chooses the next.
 *
 * @example
 * const history = History.fromOutcomes([{ key: "sum 17", iteration: 0, rewards: [1, 0, 0, 1] }])
 * const visits = history.get("sum 17")?.visits
 */

/** How a group went when it was last rolled out. */
export interface Seen {
  /** The iteration of that time. */
  readonly iteration: number
  /** How often it was rolled out. */
  readonly visits: number
  /** Of the members that finished; none where the group was skipped. */
  readonly rewards: ReadonlyArray<number>
}

/** By the groups' keys; of the iterations before the one that is chosen for. */
export type History = ReadonlyMap<string, Seen>

export interface Outcome extends Pick<Seen, "iteration" | "rewards"> {
  readonly key: string
}

export const empty: History = new Map()

/** With the outcomes of one more iteration. */
export const extend = (self: History, outcomes: ReadonlyArray<Outcome>): History => {
  const extended = new Map(self)
  for (const { iteration, key, rewards } of outcomes) {
    extended.set(key, { iteration, rewards, visits: (extended.get(key)?.visits ?? 0) + 1 })
  }
  return extended
}

/**
 * From what a run wrote down, in that order. Where it went back to an earlier checkpoint, what it wrote of the iterations
 * after that counts no more; of a group written down twice in one iteration the later counts.
 */
export const fromOutcomes = (outcomes: ReadonlyArray<Outcome>): History => {
  const iterations: Array<Map<string, Outcome>> = []
  for (const outcome of outcomes) {
    iterations.length = Math.min(iterations.length, outcome.iteration + 1)
    const written = iterations[outcome.iteration] ?? new Map<string, Outcome>()
    iterations[outcome.iteration] = written.set(outcome.key, outcome)
  }
  return iterations.reduce((history, written) => extend(history, [...written.values()]), empty)
}

/** The part whose keys begin with `prefix`, under the rest of their keys. */
export const below = (self: History, prefix: string): History =>
  new Map([...self].flatMap(([key, seen]) => key.startsWith(prefix) ? [[key.slice(prefix.length), seen]] : []))
