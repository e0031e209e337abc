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
/** The mark that ends the model's turn. It follows the end of the turn's last message. */
export const endOfTurn = "<|content_model_end_sampling|>"
/** The two forms of the mark that starts a tool declaration. Published tokenizers have only the second. */
export const declarations = ["<|content_xml|>", "<|unused_200024|>"] as const
/** The mark that starts a tool error. Older tokenizers lack it. */
export const error = "<|content_tool_error|>"
/** Control tokens of some tokenizers that a response cannot contain. */
export const others = ["<|content_invoke_tool_text|>", "<|content_audio_input|>"]

export const needed = [...new Set(roles.values()), text, thinking, image, call, end, endOfTurn]
