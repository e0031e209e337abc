/**
 * Names under which texts of a turn are shown: those of `Trajectory.texts`, and those under which earlier runs logged calls of tools.
 *
 * @example
 * const { [LogNames.question]: asked = "" } = Trajectory.texts(trajectory, 0)
 */

/** The problem, as it was put to the policy. */
export const question = "question"

/** The policy's answer. */
export const response = "response"

/** The right answer. */
export const reference = "reference"

/** The policy's text beside its tool calls. */
export const besideCalls = "assistant_content"

const ofTools = /^tool_(?:call|result)_\d+$/

/** The call of a tool, such as `calculator({"expression":"1+1"})`, and its answer; `index` counts the calls of a turn. */
export const toolCall = (index: number) => `tool_call_${index}`
export const toolResult = (index: number) => `tool_result_${index}`

/** Whether the text is part of the conversation, and so need not be shown again beside it. */
export const isSaid = (name: string): boolean =>
  name === question || name === response || name === besideCalls || ofTools.test(name)
