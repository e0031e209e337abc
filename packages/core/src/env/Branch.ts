/**
 * The place in an episode where a prompt goes on, where that is not the end of the turn before it.
 *
 * @example
 * const summarised: Branch.Branch = Branch.anew("compaction")
 * const second: Branch.Branch = { after: 0, reason: "parallel" } // also goes on after the first turn, as an earlier turn did
 */
import * as Schema from "effect/Schema"

/**
 * Why a prompt does not go on where the turn before it ended.
 *
 * - `renderer`: the renderer writes earlier turns differently, as those of thinking models do, which leave out earlier thoughts.
 * - `response`: the sampled response has no end from which to go on.
 * - `edit`: earlier messages were changed or removed.
 * - `compaction`: earlier messages were replaced with fewer or shorter ones, such as a summary.
 * - `subagent`: another conversation, with instructions or a task of its own.
 * - `parallel`: the conversation goes on from an earlier turn than the last one, or in several ways at the same time.
 * - `retry`: the same prompt is answered again.
 */
export const Reason = Schema.Literals([
  "renderer",
  "response",
  "edit",
  "compaction",
  "subagent",
  "parallel",
  "retry"
])
export type Reason = typeof Reason.Type

/** A prompt that begins with everything read and sampled up to turn `after`; −1 where it begins with no turn of its episode. */
export interface Branch {
  /** Index of the turn, from 0; −1 where the prompt is rendered anew. */
  readonly after: number
  readonly reason: Reason
}

/** A prompt that is rendered anew. */
export const anew = (reason: Reason): Branch => ({ after: -1, reason })

/** Index of the turn that turn `turn` continues: the one before it unless it branches; −1 where it continues none. */
export const previous = (turn: number, branch: Branch | undefined): number =>
  branch === undefined ? turn - 1 : branch.after
