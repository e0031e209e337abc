/**
 * The results of earlier groups, for datasets that choose the next ones by them.
 *
 * @example
 * const history = History.fromOutcomes([{ key: "sum 17", iteration: 0, rewards: [1, 0, 0, 1] }])
 * const visits = history.get("sum 17")?.visits
 */

/** The latest result of a group, and how often it was rolled out. */
export interface Seen {
  /** The iteration in which it was rolled out. */
  readonly iteration: number
  /** How often it was rolled out. */
  readonly visits: number
  /** Rewards of the members that finished; empty where the group was skipped. */
  readonly rewards: ReadonlyArray<number>
}

/** Results by the key of a group, from the iterations before the one whose batch is chosen. */
export type History = ReadonlyMap<string, Seen>

/** The result of one group in one iteration. */
export interface Outcome extends Pick<Seen, "iteration" | "rewards"> {
  readonly key: string
}

/** The history of a run that has not begun. */
export const empty: History = new Map()

/** The history with the outcomes of one more iteration. */
export const extend = (self: History, outcomes: ReadonlyArray<Outcome>): History => {
  const extended = new Map(self)
  for (const { iteration, key, rewards } of outcomes) {
    extended.set(key, { iteration, rewards, visits: (extended.get(key)?.visits ?? 0) + 1 })
  }
  return extended
}

/**
 * The history from a run's recorded outcomes, in their order. Where the run went back to an earlier checkpoint, outcomes of the
 * iterations after it no longer count; of a group that is recorded twice in one iteration, the later outcome counts.
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
