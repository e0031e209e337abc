/** Changes of metrics between consecutive iterations. */

/** A metric that changed. */
export interface Change {
  readonly name: string
  readonly before: number
  readonly now: number
}

type Values = Readonly<Record<string, number | null>>

/** Metrics that explain a change of the reward: rewards by tag, group signals, stop reasons, lengths, and optimizer statistics. */
const telling = [
  /^reward$/,
  /^env\/[^/]+\/reward\/total$/,
  /^env\/all\/by_group\//,
  /^env\/all\/response_tokens\/p/,
  /^env\/all\/(?!total_|reward|.*_per_)[^/]+$/,
  /^env\/all\/stop\//,
  /^optim\/(entropy|kl_sample_train_v2|effective_sample_size)$/,
  /^(grad_norm|nll|teacher_kl)$|^dpo\//
]

const isShare = (value: number) => value >= 0 && value <= 1

/** The size of a change: the difference for shares; half of the relative difference for other values, whose scale is unknown. */
const size = ({ before, now }: Change) =>
  isShare(before) && isShare(now)
    ? Math.abs(now - before)
    : Math.abs(now - before) / (2 * Math.max(Math.abs(now), Math.abs(before)))

/** Smaller changes are not shown. */
const least = 0.01

/** The reward, then the `most` metrics with the largest changes, largest first. */
export const of = (before: Values, now: Values, most = 8): ReadonlyArray<Change> => {
  const changes = Object.entries(now).flatMap(([name, value]): ReadonlyArray<Change> => {
    const earlier = before[name]
    return typeof value === "number" && typeof earlier === "number" && telling.some((pattern) => pattern.test(name))
      ? [{ name, before: earlier, now: value }]
      : []
  })
  const [reward, others] = [
    changes.filter(({ name }) => name === "reward"),
    // The reward over all tags is the overall reward, which is already listed.
    changes.filter((change) =>
      change.name !== "reward" && change.name !== "env/all/reward/total" && size(change) >= least
    )
  ]
  return [...reward, ...others.toSorted((left, right) => size(right) - size(left)).slice(0, most)]
}
