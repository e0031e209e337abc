/**
 * Where a prompt continues its episode, if not at the end of the previous turn.
 *
 * @example
 * const summarised: Branch.Branch = Branch.anew("compaction")
 * const second: Branch.Branch = { after: 0, reason: "parallel" } // continues the first turn, like an earlier turn
 */
import * as Schema from "effect/Schema"

/**
 * Why a prompt does not continue at the end of the previous turn.
 *
 * - `renderer`: the renderer writes earlier turns differently. Renderers of thinking models leave out earlier thoughts.
 * - `response`: the sampled tokens cannot be extended, because the response is malformed, ends with the model's end-of-text token, or its
 *   end cannot be found in the rendered conversation. The new prompt contains the parsed message, or leaves the response out if it could
 *   not be parsed.
 * - `edit`: earlier messages were changed or removed.
 * - `compaction`: earlier messages were replaced with fewer or shorter ones, such as a summary.
 * - `subagent`: another conversation, with its own instructions or task.
 * - `parallel`: the conversation continues from a turn before the last one, or in several ways at the same time.
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

/** The start of a prompt: everything read and sampled up to and including turn `after`. */
export interface Branch {
  /** Index of the turn, from 0; −1 if the prompt is rendered from the beginning and continues no turn. */
  readonly after: number
  readonly reason: Reason
}

/** The branch of a prompt that is rendered from the beginning and continues no turn. */
export const anew = (reason: Reason): Branch => ({ after: -1, reason })

/** Index of the turn that turn `turn` continues: by default the previous one. −1 if it continues none. */
export const previous = (turn: number, branch: Branch | undefined): number =>
  branch === undefined ? turn - 1 : branch.after
