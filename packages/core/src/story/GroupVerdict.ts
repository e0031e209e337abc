/** Shares of an iteration's groups by what their rewards teach. */

/** Groups with different rewards teach something; the members of others all did well, all did badly, or were lost. */
export type Verdict = "informative" | "good" | "bad" | "skipped"

export const verdicts: ReadonlyArray<Verdict> = ["informative", "good", "bad", "skipped"]

/** What is known of a group; a dropped member has no reward. */
interface Known {
  readonly outcome: string
  readonly rewards: ReadonlyArray<number | null>
}

const isNumber = (value: number | null): value is number => value !== null && !Number.isNaN(value)

/**
 * Equal rewards from 0.5 on are good, as the metrics `groups/all_good` and `groups/all_bad` count them.
 *
 * @example
 * GroupVerdict.verdict({ outcome: "Completed", rewards: [1, 0, 1, 1] }) // "informative"
 */
export const verdict = ({ outcome, rewards }: Known): Verdict => {
  const known = rewards.filter(isNumber)
  const [first] = known
  if (outcome === "Skipped" || first === undefined) return "skipped"
  if (known.some((reward) => reward !== first)) return "informative"
  return first >= 0.5 ? "good" : "bad"
}

/** Number of groups of each verdict. */
export type Tally = Record<Verdict, number>

export const noGroups = (): Tally => ({ informative: 0, good: 0, bad: 0, skipped: 0 })

export const tally = (groups: ReadonlyArray<Known>): Tally => {
  const found = noGroups()
  for (const group of groups) found[verdict(group)]++
  return found
}
