/** The error of an iteration that dropped more members than allowed. */
import * as Schema from "effect/Schema"

/**
 * An iteration lost more than `maxDroppedShare` of its members: dropped members, and all members of skipped groups. Each of `reasons` has
 * the number of members it affected and an example message. `iteration` counts from 0.
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
    return `iteration ${
      this.iteration + 1
    }: ${this.dropped} of ${this.started} members were lost, more than a share of ` +
      `${this.maxDroppedShare}: ${reasons.join(", ")}; fix what fails, or raise maxDroppedShare`
  }
}
