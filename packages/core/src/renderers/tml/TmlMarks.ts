/** The control tokens of TML v0: roles, content kinds and ends. */

export const roles: ReadonlyMap<string, string> = new Map([
  ["user", "<|message_user|>"],
  ["assistant", "<|message_model|>"],
  ["system", "<|message_system|>"],
  ["tool_declare", "<|message_system|>"],
  ["tool", "<|message_tool|>"]
])

export const model = "<|message_model|>"
export const text = "<|content_text|>"
export const thinking = "<|content_thinking|>"
export const image = "<|content_image|>"
export const call = "<|content_invoke_tool_json|>"
export const end = "<|end_message|>"
/** Ends the model's turn; follows the end of its last message. */
export const endOfTurn = "<|content_model_end_sampling|>"
/** Starts a tool declaration; published tokenizers lack the name and use the second form. */
export const declarations = ["<|content_xml|>", "<|unused_200024|>"] as const
/** Starts a tool error; older tokenizers lack this name. */
export const error = "<|content_tool_error|>"
/** Control tokens of some tokenizers that a response cannot contain. */
export const others = ["<|content_invoke_tool_text|>", "<|content_audio_input|>"]

export const needed = [...new Set(roles.values()), text, thinking, image, call, end, endOfTurn]
