/**
 * The names under which a turn's texts are shown: those of `Trajectory.texts`, and those that earlier versions used to log tool calls.
 *
 * @example
 * const { [LogNames.question]: asked = "" } = Trajectory.texts(trajectory, 0)
 */

/** The problem as presented to the policy. */
export const question = "question"

/** The answer that the policy gave. */
export const response = "response"

/** The reference answer. */
export const reference = "reference"

/** The policy's text beside its tool calls. */
export const besideCalls = "assistant_content"

const ofTools = /^tool_(?:call|result)_\d+$/

/**
 * A tool call, such as `calculator({"expression":"1+1"})`; `index` is its position among the turn's calls. `toolResult` names its result.
 */
export const toolCall = (index: number) => `tool_call_${index}`
export const toolResult = (index: number) => `tool_result_${index}`

/** Whether the text is part of the conversation, so it need not be shown separately. */
export const isSaid = (name: string): boolean =>
  name === question || name === response || name === besideCalls || ofTools.test(name)
