/** An iteration lost more of its members than it may. */
import * as Schema from "effect/Schema"
import * as GroupResult from "../rollout/GroupResult.ts"

/**
 * `reasons` say how many members were lost for what, with an example of each.
 *
 * @example
 * const run = Rl.run({ model, dataset, rollout: { maxDroppedShare: 0.1 } }).pipe(
 *   Stream.catchTag("TooManyDropped", ({ message }) => Stream.fromEffect(Console.log(message)))
 * )
 */
export class TooManyDropped extends Schema.TaggedError<TooManyDropped>()("TooManyDropped", {
  iteration: Schema.Int,
  dropped: Schema.Int,
  started: Schema.Int,
  maxDroppedShare: Schema.Finite,
  reasons: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, example: Schema.String }))
}) {
  override get message() {
    const reasons = this.reasons.map(({ count, example, reason }) => `${count} ${reason} (${example})`)
    return `iteration ${this.iteration}: ${this.dropped} of ${this.started} members were lost, more than a share of ` +
      `${this.maxDroppedShare}: ${reasons.join(", ")}; fix what fails, or raise maxDroppedShare`
  }
}

const size = (result: GroupResult.GroupResult) => GroupResult.isSkipped(result) ? result.size : result.members.length

/** Members of all groups, lost ones included. */
export const started = (results: ReadonlyArray<GroupResult.GroupResult>) =>
  results.reduce((count, result) => count + size(result), 0)

/** The error of an iteration that lost more than a share of its members; undefined where it did not. */
export const among = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  { iteration, maxDroppedShare }: Pick<TooManyDropped, "iteration" | "maxDroppedShare">
): TooManyDropped | undefined => {
  const lost = results.flatMap(GroupResult.lost)
  const members = started(results)
  if (lost.length === 0 || lost.length / members <= maxDroppedShare) return undefined
  const reasons = [...new Set(lost.map(({ failure }) => failure))].map((reason) => {
    const all = lost.filter(({ failure }) => failure === reason)
    return { reason, count: all.length, example: all[0]?.message ?? "" }
  })
  return new TooManyDropped({
    iteration,
    dropped: lost.length,
    started: members,
    maxDroppedShare,
    reasons: reasons.toSorted((left, right) => right.count - left.count)
  })
}
