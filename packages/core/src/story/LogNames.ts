/**
 * The names under which a turn's texts are shown: those of `Trajectory.texts`, and those that earlier versions used to log tool calls.
 *
 * @example
 * const { [LogNames.question]: asked = "" } = Trajectory.texts(trajectory, 0)
 */

/** The name of the problem's text, as presented to the policy. */
export const question = "question"

/** The name of the answer that the policy gave. */
export const response = "response"

/** The name of the reference answer. */
export const reference = "reference"

/** The name of the policy's text beside its tool calls. */
export const besideCalls = "assistant_content"

const ofTools = /^tool_(?:call|result)_\d+$/

/**
 * The name of a tool call's text, such as `calculator({"expression":"1+1"})`; `index` is the call's position among the turn's calls.
 * `toolResult` names its result.
 */
export const toolCall = (index: number) => `tool_call_${index}`
export const toolResult = (index: number) => `tool_result_${index}`

/** Whether the text of this name is part of the conversation, so it need not be shown separately. */
export const isSaid = (name: string): boolean =>
  name === question || name === response || name === besideCalls || ofTools.test(name)
