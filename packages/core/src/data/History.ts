/**
 * Results of earlier groups, for datasets that choose later groups by them.
 *
 * @example
 * const history = History.fromOutcomes([{ key: "sum 17", iteration: 0, rewards: [1, 0, 0, 1] }])
 * const visits = history.get("sum 17")?.visits
 */

/** The latest result of a group, and the number of its rollouts. */
export interface Seen {
  /** The iteration of the latest rollout. */
  readonly iteration: number
  /** The number of times the group was rolled out. */
  readonly visits: number
  /** Rewards of the members that finished; empty if the group was skipped. */
  readonly rewards: ReadonlyArray<number>
}

/** Results by group key, from the iterations before the batch that is being chosen. */
export type History = ReadonlyMap<string, Seen>

/** The result of one group in one iteration. */
export interface Outcome extends Pick<Seen, "iteration" | "rewards"> {
  readonly key: string
}

/** The history at the start of a run. */
export const empty: History = new Map()

/** Adds the outcomes of one more iteration to the history. */
export const extend = (self: History, outcomes: ReadonlyArray<Outcome>): History => {
  const extended = new Map(self)
  for (const { iteration, key, rewards } of outcomes) {
    extended.set(key, { iteration, rewards, visits: (extended.get(key)?.visits ?? 0) + 1 })
  }
  return extended
}

/**
 * The history from a run's recorded outcomes, in their order. If the run went back to an earlier checkpoint, earlier outcomes of the
 * iterations after it are dropped. If a group was recorded twice in one iteration, the later outcome counts.
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

/** The entries whose keys begin with `prefix`, with the prefix removed from the keys. */
export const below = (self: History, prefix: string): History =>
  new Map([...self].flatMap(([key, seen]) => key.startsWith(prefix) ? [[key.slice(prefix.length), seen]] : []))
