/**
 * Names under which environments log texts that readers know.
 *
 * @example
 * const logs = { [LogNames.question]: "2 + 3?", [LogNames.response]: "5", [LogNames.reference]: "5" }
 */

/** The problem, as it was put to the policy. */
export const question = "question"

/** The policy's answer. */
export const response = "response"

/** The right answer. */
export const reference = "reference"

/** What the policy said beside its calls of tools. */
export const besideCalls = "assistant_content"

const ofTools = /^tool_(?:call|result)_\d+$/

/** The call of a tool, such as `calculator({"expression":"1+1"})`, and its answer; `index` counts the calls of a turn. */
export const toolCall = (index: number) => `tool_call_${index}`
export const toolResult = (index: number) => `tool_result_${index}`

/** Texts about the problem that the policy did not write. */
export const given: ReadonlyArray<string> = [question, reference, "target"]

/** Whether the text is part of the conversation, and so is not shown beside it again. */
export const isSaid = (name: string): boolean =>
  name === question || name === response || name === besideCalls || ofTools.test(name)
