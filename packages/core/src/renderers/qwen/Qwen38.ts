/**
 * Qwen3.8: Qwen3.5's format with the reasoning effort in the system message; earlier thinking is kept.
 *
 * @example
 * Qwen38.qwen38Low(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ChatMl from "../ChatMl.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallXml from "../ToolCallXml.ts"
import * as Qwen35 from "./Qwen35.ts"
import * as QwenVl from "./QwenVl.ts"

/** The sentences of the model's template, by reasoning effort. */
const sentences = {
  xhigh: "Reasoning effort is set to xhigh. Please think carefully through the task, validate key assumptions, consider"
    + " plausible alternatives, and prioritize correctness, consistency, and clarity in the final answer.",
  medium: "",
  low: "Reasoning effort is set to low. Keep your thinking brief and focused, moving directly to the conclusion without"
    + " unnecessary elaboration."
}

const isText = (part: Message.ContentPart) => part.type === "text"

/** Puts the sentence before a system text, unless the text already starts with it. */
const beforeText = (sentence: string, text: string): string => {
  if (sentence === "" || text === sentence || text.startsWith(`${sentence}\n\n`)) return text
  return text === "" ? sentence : `${sentence}\n\n${text}`
}

/** Puts the sentence before content parts that are not all text. */
const beforeParts = (
  sentence: string,
  parts: ReadonlyArray<Message.ContentPart>
): ReadonlyArray<Message.ContentPart> => {
  const [first] = parts
  if (sentence === "" || (first?.type === "text" && first.text.startsWith(sentence))) return parts
  return [{ type: "text", text: `${sentence}\n\n` }, ...parts]
}

/** Puts the sentence into the system message, which is added if it is missing. Without a sentence, an empty system message is removed. */
const prepare = (sentence: string) => (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> => {
  const [first, ...rest] = messages
  if (first?.role !== "system") return sentence === "" ? messages : [Message.system(sentence), ...messages]
  if (!Message.parts(first).every(isText)) {
    return [{ ...first, content: beforeParts(sentence, Message.parts(first)) }, ...rest]
  }
  const text = PythonText.strip(Message.text(first))
  return text === "" && sentence === "" ? rest : [{ ...first, content: beforeText(sentence, text) }, ...rest]
}

/** Whether the message has a thinking part. Thinking written inside a string counts as text. */
const hasThinkingPart = ({ content }: Message.Message) =>
  typeof content !== "string" && content.some((part) => part.type === "thinking")

const make = (name: string, sentence: string, disablesThinking: boolean) => (tokenizer: Tokenizer) =>
  QwenVl.make({
    ...Qwen35.dialect({ name, disablesThinking, keepsThinking: true }),
    prepare: (messages) => Effect.sync(() => prepare(sentence)(messages)),
    headerSuffix: (message) => hasThinkingPart(message) ? "" : ChatMl.emptyThinking,
    calls: Qwen35.calls(name, ToolCallXml.jsonScalar)
  }, tokenizer)

/** A renderer for Qwen3.8 that asks for the highest reasoning effort. @see tinker-cookbook `Qwen3_8Renderer` */
export const qwen38Xhigh = make("qwen3_8_xhigh_reasoning", sentences.xhigh, false)
/** A renderer for Qwen3.8 at medium reasoning effort, for which the model's template has no sentence. */
export const qwen38Medium = make("qwen3_8_medium_reasoning", sentences.medium, false)
/** A renderer for Qwen3.8 that asks for low reasoning effort. */
export const qwen38Low = make("qwen3_8_low_reasoning", sentences.low, false)

/** A renderer for Qwen3.8 whose prompt closes the thinking block. It rejects examples that train a turn with reasoning. */
export const qwen38DisableThinking = make("qwen3_8_disable_thinking", "", true)
